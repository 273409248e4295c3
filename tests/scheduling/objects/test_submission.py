"""The Workloads of jobs, Pods and Pod groups."""

from __future__ import annotations

import json
from typing import Any

import pytest

from policies.amounts.role_hash import role_hash
from policies.dialects.job_shape import Count, JobShape, PodSetPath, SuspendField
from policies.dialects.kueue_jobs import BATCH_JOB
from policies.dialects.naming import NAMING
from policies.model.objects import GroupKind
from scheduling.objects.pod_sets import RequestGates, topology_request
from scheduling.objects.priority import PriorityClasses, UnknownPriorityClass
from scheduling.objects.reading import read_workload
from scheduling.objects.requests import total_requests
from scheduling.objects.submission import (
    IncompleteGroup,
    workload_of_group,
    workload_of_job,
    workload_of_pod,
)
from tests import builders
from tests.builders import container, manifest, queued
from tests.profiles import each_case

K = "kueue.x-k8s.io/"
CLASSES = PriorityClasses({"gold": 100}, {"pods": 7})
TEMPLATE: dict[str, Any] = {"spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}}


def job(
    kind: str = "Job", version: str = "batch/v1", queue: str = "q", notes: dict[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    labels = {f"{K}queue-name": queue}
    return manifest(version, kind, "j", spec, namespace="ns", uid="u", labels=labels, annotations=notes or {})


def batch(template: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return job(template=template or TEMPLATE, **spec)


def composed(manifest: dict[str, Any]) -> dict[str, Any]:
    made = workload_of_job(manifest, CLASSES)
    assert made is not None
    return made


def sizes(manifest: dict[str, Any]) -> dict[str, int]:
    return {entry["name"]: entry["count"] for entry in composed(manifest)["spec"]["podSets"]}


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        ({}, 1),
        ({"parallelism": 3}, 3),
        ({"completions": 3}, 1),
        ({"parallelism": 3, "completions": 2}, 2),
        ({"parallelism": 3, "completions": 5}, 3),
        ({"parallelism": 0}, 0),
    ],
)
def test_the_pod_count_of_a_job_comes_from_parallelism_and_completions(spec: dict[str, int], count: int) -> None:
    assert sizes(batch(**spec)) == {"main": count}


@pytest.mark.parametrize("least", ["2", "+2", "0000000002"])
def test_a_workload_has_the_queue_the_owner_and_the_minimum_count_of_its_job(least: str) -> None:
    made = composed(batch(parallelism=3) | {"metadata": job(notes={f"{K}job-min-parallelism": least})["metadata"]})

    assert made["spec"]["queueName"] == "q"
    assert made["spec"]["podSets"][0]["minCount"] == 2
    assert made["metadata"]["labels"] == {f"{K}job-uid": "u"}
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"], owner["controller"]) == ("Job", "j", "u", True)
    assert [entry.requests for entry in total_requests(read_workload(made))] == [{"cpu": 3000}]


def test_a_job_with_a_parallelism_below_its_minimum_has_no_minimum_count() -> None:
    made = composed(batch(parallelism=2) | {"metadata": job(notes={f"{K}job-min-parallelism": "3"})["metadata"]})

    assert "minCount" not in made["spec"]["podSets"][0]


def test_the_workload_of_a_job_has_the_name_that_kueue_generates() -> None:
    made = composed(batch())["metadata"]["name"]

    assert made == NAMING.workload(BATCH_JOB, "j", "u")
    assert made.startswith("job-j-")
    assert len(made) == len("job-j-") + 5


def test_the_priority_is_that_of_the_label_or_of_the_pods() -> None:
    of_pods = batch({"spec": {**TEMPLATE["spec"], "priorityClassName": "pods"}})
    labelled = batch()
    labelled["metadata"]["labels"][f"{K}priority-class"] = "gold"

    assert composed(of_pods)["spec"]["priority"] == 7
    assert composed(labelled)["spec"]["priority"] == 100
    assert composed(labelled)["spec"]["priorityClassRef"]["kind"] == "WorkloadPriorityClass"
    assert composed(batch())["spec"]["priority"] == 0
    labelled["metadata"]["labels"][f"{K}priority-class"] = "silver"
    with pytest.raises(UnknownPriorityClass):
        composed(labelled)


def test_the_maximum_execution_time_comes_from_the_label() -> None:
    limited = batch()
    limited["metadata"]["labels"][f"{K}max-exec-time-seconds"] = "60"

    assert composed(limited)["spec"]["maximumExecutionTimeSeconds"] == 60


def test_a_kind_is_described_by_paths() -> None:
    kind = GroupKind("example.com", "Wonder")
    paths = (
        PodSetPath("Boss", "spec.boss"),
        PodSetPath("title", "pod", (Count("copies"), Count("each", at_most="most")), "spec.helpers", "index"),
        PodSetPath("none", "spec.missing"),
    )
    helpers = [{"title": "Hands", "copies": 2, "each": 5, "most": 3, "pod": TEMPLATE}, {"title": "feet"}]

    shape = JobShape(kind=kind, version="v1", plural="wonders", pod_sets=paths, suspend=SuspendField("spec.suspend"))
    made = workload_of_job(job("Wonder", "example.com/v1", boss=TEMPLATE, helpers=helpers), CLASSES, shape)

    assert made is not None
    assert [(entry["name"], entry["count"]) for entry in made["spec"]["podSets"]] == [("boss", 1), ("hands", 6)]


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_a_kind_that_is_admitted_pod_by_pod_has_no_workload(kind: str) -> None:
    assert workload_of_job(job(kind, "apps/v1", template=TEMPLATE), CLASSES) is None


def test_a_train_job_has_no_workload_as_its_pods_are_in_its_runtime() -> None:
    assert workload_of_job(job("TrainJob", "trainer.kubeflow.org/v1alpha1", runtimeRef={"name": "r"}), CLASSES) is None


def test_a_job_without_a_queue_or_of_an_unknown_kind_has_no_workload() -> None:
    assert workload_of_job(batch(queue=""), CLASSES) is None
    assert workload_of_job(batch(queue="", notes={f"{K}queue-name": "q"}), CLASSES) is None  # as in Kueue since 0.15
    assert workload_of_job(job("Wonder", "example.com/v1"), CLASSES) is None


def test_a_job_set_has_a_pod_set_for_each_replicated_job() -> None:
    jobs = [
        {"name": "leader", "template": {"spec": {"template": TEMPLATE}}},
        {"name": "workers", "replicas": 2, "template": {"spec": {"parallelism": 3, "template": TEMPLATE}}},
    ]

    assert sizes(job("JobSet", "jobset.x-k8s.io/v1alpha2", replicatedJobs=jobs)) == {"leader": 1, "workers": 6}


def test_pod_sets_of_a_kubeflow_job_are_its_replica_types_in_order() -> None:
    specs = {"Worker": {"replicas": 4, "template": TEMPLATE}, "Master": {"template": TEMPLATE}}

    made = job("PyTorchJob", "kubeflow.org/v1", pytorchReplicaSpecs=specs)

    assert list(sizes(made).items()) == [("master", 1), ("worker", 4)]
    assert sizes(job("MPIJob", "kubeflow.org/v2beta1", mpiReplicaSpecs={"Worker": {"template": TEMPLATE}})) == {
        "worker": 1
    }


def test_a_ray_cluster_has_a_pod_set_for_its_head_and_each_group() -> None:
    groups = [{"groupName": "GPU", "replicas": 2, "numOfHosts": 3, "template": TEMPLATE}]
    made = job("RayCluster", "ray.io/v1", headGroupSpec={"template": TEMPLATE}, workerGroupSpecs=groups)

    assert sizes(made) == {"head": 1, "gpu": 6}


def test_a_group_of_a_ray_cluster_has_at_least_its_minimum() -> None:
    groups = [{"groupName": "GPU", "replicas": 1, "minReplicas": 50, "numOfHosts": 2, "template": TEMPLATE}]
    made = job("RayCluster", "ray.io/v1", headGroupSpec={"template": TEMPLATE}, workerGroupSpecs=groups)

    assert sizes(made) == {"head": 1, "gpu": 100}


@pytest.mark.parametrize("hosts", [0, -1])
def test_a_replica_of_a_ray_cluster_has_at_least_one_host(hosts: int) -> None:
    groups = [{"groupName": "GPU", "replicas": 50, "numOfHosts": hosts, "template": TEMPLATE}]
    made = job("RayCluster", "ray.io/v1", headGroupSpec={"template": TEMPLATE}, workerGroupSpecs=groups)

    assert sizes(made) == {"head": 1, "gpu": 50}


@pytest.mark.parametrize(
    ("notes", "elastic"),
    [({}, True), ({"job-min-parallelism": "1"}, False), ({"elastic-job": "false"}, False)],
    ids=["elastic", "admitted in part", "not elastic"],
)
def test_the_workload_of_an_elastic_job_is_elastic(notes: dict[str, str], elastic: bool) -> None:
    noted = {f"{K}{key}": value for key, value in ({"elastic-job": "true"} | notes).items()}
    made = workload_of_job(job(notes=noted, template=TEMPLATE), CLASSES)

    assert made is not None
    assert read_workload(made).elastic is elastic


def test_a_workload_that_cannot_be_resized_is_not_elastic() -> None:
    noted = {f"{K}elastic-job": "true"}
    jobset = job(
        "JobSet",
        "jobset.x-k8s.io/v1alpha2",
        notes=noted,
        replicatedJobs=[{"name": "a", "template": {"spec": {"template": TEMPLATE}}}],
    )
    single = builders.pod(uid="u", labels=queued("q"), annotations=noted)
    switched_off = workload_of_job(job(notes=noted, template=TEMPLATE), CLASSES, elastic=False)

    for made in (composed(jobset), workload_of_pod(single, CLASSES), switched_off):
        assert made is not None
        assert not read_workload(made).elastic


def test_topology_annotations_become_a_topology_request() -> None:
    slices = {f"{K}podset-slice-required-topology": "host", f"{K}podset-slice-size": "2"}
    wish = {f"{K}podset-required-topology": "rack", **slices, "other": "x"}
    made = composed(batch({"metadata": {"annotations": wish}, **TEMPLATE}))

    assert made["spec"]["podSets"][0]["topologyRequest"] == {
        "required": "rack",
        "podSetSliceRequiredTopology": "host",
        "podSetSliceSize": 2,
        "podIndexLabel": "batch.kubernetes.io/job-completion-index",
    }
    assert topology_request({f"{K}podset-unconstrained-topology": "true"}) == {"unconstrained": True}
    assert topology_request({}, "label") == {"podIndexLabel": "label"}


@each_case(
    ("notes", "request_"),
    [
        ({"required-topology": "rack", "preferred-topology": "block"}, {"required": "rack"}),
        ({"preferred-topology": "block", "unconstrained-topology": "true"}, {"preferred": "block"}),
        ({"unconstrained-topology": "T"}, {"unconstrained": True}),
        ({"unconstrained-topology": "false"}, {"unconstrained": False}),
        ({"unconstrained-topology": "yes"}, {}),
        ({"unconstrained-topology": "1", "group-name": "g"}, {"unconstrained": True}),
        ({"required-topology": "rack", "group-name": "g"}, {"required": "rack", "podSetGroupName": "g"}),
        ({"slice-required-topology": "rack"}, {}),
        ({"required-topology": "rack", "slice-size": "2"}, {"required": "rack"}),
        (
            {"slice-required-topology": "rack", "slice-size": "+2"},
            {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2},
        ),
        (
            {"slice-required-topology": "rack", "slice-size": "2147483647"},
            {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2**31 - 1},
        ),
        ({"slice-required-topology": "rack", "slice-size": "2147483648"}, {}),
        (
            {
                "slice-required-topology": "rack",
                "slice-size": "2",
                "slice-required-topology-constraints": '[{"topology": "block", "size": 4}]',
            },
            {"podsetSliceRequiredTopologyConstraints": [{"topology": "block", "size": 4}]},
        ),
    ],
)
def test_topology_annotations_are_read_in_the_order_of_kueue(notes: dict[str, str], request_: dict[str, Any]) -> None:
    assert topology_request({f"{K}podset-{key}": value for key, value in notes.items()}) == request_


@pytest.mark.parametrize(
    ("written", "layers"),
    [
        ('[{"topology": "block", "size": 8}, {"topology": "rack", "size": 4}]', [("block", 8), ("rack", 4)]),
        ('[{"topology": "block", "size": 0}, {"topology": "rack", "size": 4}, 5]', [("rack", 4)]),
        (json.dumps([{"topology": f"l{n}", "size": 1} for n in range(9)]), [("l0", 1), ("l1", 1), ("l2", 1)]),
        ('[{"topology": "block", "size": true}]', None),
        ("{}", None),
        ("not JSON", None),
        ("[" * 100_000, None),
    ],
)
def test_nested_slices_are_a_topology_request(written: str, layers: list[tuple[str, int]] | None) -> None:
    notes = {f"{K}podset-slice-required-topology-constraints": written}
    made = composed(batch({"metadata": {"annotations": notes}, **TEMPLATE}))

    found = [{"topology": level, "size": size} for level, size in layers or ()]
    asked = made["spec"]["podSets"][0].get("topologyRequest", {})
    assert asked.get("podsetSliceRequiredTopologyConstraints", []) == found
    assert read_workload(made).pod_sets[0].asks_for_topology is (layers is not None)


def pod(
    name: str = "p", cpu: str = "1", group: str = "", size: str = "", notes: dict[str, str] | None = None
) -> dict[str, Any]:
    labels = queued("q", **({"pod_group_name": group} if group else {}))
    annotations = {**(notes or {}), **({f"{K}pod-group-total-count": size} if size else {})}
    gates = [{"name": f"{K}admission"}, {"name": "other"}]
    spec = {"containers": [container(cpu=cpu)], "schedulingGates": gates}
    return builders.pod(name, "ns", spec, uid=name, labels=labels, annotations=annotations)


def test_a_single_pod_has_a_workload_with_one_pod() -> None:
    made = workload_of_pod(pod(), CLASSES)
    assert made is not None

    (entry,) = made["spec"]["podSets"]
    assert (entry["name"], entry["count"]) == ("main", 1)
    assert entry["template"]["spec"]["schedulingGates"] == [{"name": "other"}]
    assert workload_of_pod(pod(group="g"), CLASSES) is None


def test_a_group_has_a_pod_set_for_each_role() -> None:
    made = workload_of_group([pod("a", "2", "g", "3"), pod("b", "1", "g", "3"), pod("c", "1", "g", "3")], CLASSES)

    assert made["metadata"]["name"] == "g"
    assert sorted(entry["count"] for entry in made["spec"]["podSets"]) == [1, 2]
    assert [owner["name"] for owner in made["metadata"]["ownerReferences"]] == ["a", "b", "c"]
    assert sum(entry.requests["cpu"] for entry in total_requests(read_workload(made))) == 4000


@pytest.mark.parametrize("names", ["a", "ab"])
def test_the_workload_of_a_group_has_all_pods_as_owners_and_no_controller(names: str) -> None:
    meta = workload_of_group([pod(name, "1", "g", str(len(names))) for name in names], CLASSES)["metadata"]

    assert [(owner["name"], owner.get("controller", False)) for owner in meta["ownerReferences"]] == [
        (name, False) for name in names
    ]
    assert meta["labels"] == {}


@pytest.mark.parametrize(("cpus", "counts"), [(("1", "1000m"), [2]), (("1", "2"), [1, 1])])
def test_pods_with_one_role_hash_form_one_pod_set_if_their_requests_are_equal(
    cpus: tuple[str, str], counts: list[int]
) -> None:
    named = {f"{K}role-hash": "abc"}
    made = workload_of_group([pod(name, cpu, "g", "2", named) for name, cpu in zip("ab", cpus, strict=True)], CLASSES)

    assert [entry["count"] for entry in made["spec"]["podSets"]] == counts
    assert ("abc" in {entry["name"] for entry in made["spec"]["podSets"]}) is (len(counts) == 1)


def test_a_pod_without_a_role_hash_label_joins_pods_with_the_same_role_hash() -> None:
    plain = pod("b", "1000m", "g", "2")
    marked = pod("a", "1", "g", "2", {f"{K}role-hash": role_hash(plain["spec"])})

    made = workload_of_group([marked, plain], CLASSES)

    assert [(entry["name"], entry["count"]) for entry in made["spec"]["podSets"]] == [(role_hash(plain["spec"]), 2)]


def test_pods_beyond_the_size_do_not_count() -> None:
    made = workload_of_group([pod(name, "1", "g", "2") for name in "cab"], CLASSES)

    assert [owner["name"] for owner in made["metadata"]["ownerReferences"]] == ["a", "b"]


def test_a_group_waits_for_all_pods_unless_fast_admission_is_set() -> None:
    fast = {f"{K}pod-group-fast-admission": "true"}

    with pytest.raises(IncompleteGroup, match="Pod group g has 1 of 3 Pods; create the others"):
        workload_of_group([pod("a", "1", "g", "3")], CLASSES)
    made = workload_of_group([pod("a", "1", "g", "3", fast)], CLASSES)
    assert [entry["count"] for entry in made["spec"]["podSets"]] == [3]


def test_a_group_of_several_roles_waits_for_all_its_pods() -> None:
    fast = {f"{K}pod-group-fast-admission": "true"}
    small, large = pod("a", "1", "g", "3", fast), pod("b", "2", "g", "3", fast)

    with pytest.raises(IncompleteGroup, match="Pod group g has 2 of 3 Pods"):
        workload_of_group([small, large], CLASSES)
    made = workload_of_group([small, large, pod("c", "2", "g", "3", fast)], CLASSES)
    assert sorted(entry["count"] for entry in made["spec"]["podSets"]) == [1, 2]


@pytest.mark.parametrize("size", ["2", "+2", "0000000002"])
def test_the_size_of_a_group_is_parsed_as_in_go(size: str) -> None:
    made = workload_of_group([pod("a", "1", "g", size), pod("b", "1", "g", size)], CLASSES)

    assert [entry["count"] for entry in made["spec"]["podSets"]] == [2]


@pytest.mark.parametrize("size", ["", "x", "0", "-1", "2147483648"])
def test_a_group_without_a_valid_size_is_incomplete(size: str) -> None:
    with pytest.raises(IncompleteGroup, match=r"Pod group g has no valid size; set .*pod-group-total-count"):
        workload_of_group([pod("a", "1", "g", size)], CLASSES)
    with pytest.raises(IncompleteGroup):
        workload_of_group([], CLASSES)


def ray_job(**spec: Any) -> dict[str, Any]:
    head = {"template": {"spec": {"containers": [{"image": "ray:2", "resources": {"requests": {"cpu": "2"}}}]}}}
    workers = [{"groupName": "Small", "replicas": 3, "numOfHosts": 2, "template": TEMPLATE}]
    cluster = {"headGroupSpec": head, "workerGroupSpecs": workers}
    return job("RayJob", "ray.io/v1", rayClusterSpec=cluster, **spec)


def test_a_ray_job_has_pod_sets_for_its_head_its_groups_and_its_submitter() -> None:
    assert sizes(ray_job()) == {"head": 1, "small": 6}
    assert sizes(ray_job(submissionMode="K8sJobMode")) == {"head": 1, "small": 6, "submitter": 1}

    (*_, submitter) = composed(ray_job(submissionMode="K8sJobMode"))["spec"]["podSets"]
    (container,) = submitter["template"]["spec"]["containers"]
    assert (container["image"], container["resources"]["requests"]["cpu"]) == ("ray:2", "500m")
    (*_, own) = composed(ray_job(submissionMode="K8sJobMode", submitterPodTemplate=TEMPLATE))["spec"]["podSets"]
    assert own["template"] == TEMPLATE


OWN = {"requests": {"cpu": "1", "memory": "1Gi"}}


@each_case(("kind", "where"), [("RayCluster", ""), ("RayJob", "rayClusterSpec"), ("RayService", "rayClusterConfig")])
@each_case(
    ("cluster", "added"),
    [
        ({}, []),
        ({"enableInTreeAutoscaling": False, "autoscalerOptions": {"resources": OWN}}, []),
        ({"enableInTreeAutoscaling": True}, [("autoscaler", {"cpu": "500m", "memory": "512Mi"})]),
        ({"enableInTreeAutoscaling": True, "autoscalerOptions": {"idleTimeoutSeconds": 5}}, [("autoscaler", {})]),
        (
            {"enableInTreeAutoscaling": True, "autoscalerOptions": {"resources": OWN}},
            [("autoscaler", OWN["requests"])],
        ),
    ],
)
def test_the_autoscaler_sidecar_of_a_ray_head_is_counted(
    kind: str, where: str, cluster: dict[str, Any], added: list[tuple[str, dict[str, str]]]
) -> None:
    described = {"headGroupSpec": {"template": TEMPLATE}, **cluster}
    described["workerGroupSpecs"] = [{"groupName": "small", "template": TEMPLATE}]
    made = composed(job(kind, "ray.io/v1", **({where: described} if where else described)))

    head, workers = (each["template"] for each in made["spec"]["podSets"])
    beside = head["spec"]["containers"][len(TEMPLATE["spec"]["containers"]) :]
    usual = {"cpu": "500m", "memory": "512Mi"}
    assert [(each["name"], each["resources"]["requests"]) for each in beside] == [
        (name, requests or usual) for name, requests in added
    ]
    assert workers == TEMPLATE


@each_case(
    ("resources", "requests"),
    [
        ({}, {"cpu": "200m", "memory": "256Mi"}),
        ({"requests": {"cpu": "1"}}, {"cpu": "1", "memory": "256Mi"}),
        ({"requests": {"cpu": 0.1, "memory": "1Gi"}}, {"cpu": "200m", "memory": "1Gi"}),
        ({"requests": {"cpu": "lots", "memory": "1Gi"}}, {"cpu": "lots", "memory": "1Gi"}),
        ({"requests": {"cpu": "100m", "memory": "1Gi"}}, {"cpu": "200m", "memory": "1Gi"}),
        ({"limits": {"cpu": "4"}}, {"memory": "256Mi"}),
        ({"requests": {"cpu": "100m"}, "limits": {"cpu": "4", "memory": "1Gi"}}, {"cpu": "200m"}),
    ],
)
@each_case(("notes", "options"), [({}, {"gcsFaultToleranceOptions": {}}), ({"ray.io/ft-enabled": "True"}, {})])
def test_a_fault_tolerant_ray_head_counts_the_redis_cleanup_pod(
    notes: dict[str, str], options: dict[str, Any], resources: dict[str, Any], requests: dict[str, Any]
) -> None:
    containers = [{"image": "ray:2", "resources": resources}, {"name": "beside"}]
    head = {"template": {"spec": {"containers": containers}}}
    workers = [{"groupName": "small", "template": TEMPLATE}]
    made = composed(
        job("RayCluster", "ray.io/v1", notes=notes, headGroupSpec=head, workerGroupSpecs=workers, **options)
    )

    counted, others = (each["template"] for each in made["spec"]["podSets"])
    first, second = counted["spec"]["containers"]
    assert (first["resources"]["requests"], second) == (requests, {"name": "beside"})
    assert others == TEMPLATE


@pytest.mark.parametrize("notes", [{}, {"ray.io/ft-enabled": "false"}])
def test_a_ray_head_without_fault_tolerance_is_counted_unchanged(notes: dict[str, str]) -> None:
    head = {"template": {"spec": {"containers": [{"image": "ray:2"}]}}}
    made = composed(job("RayCluster", "ray.io/v1", notes=notes, headGroupSpec=head, workerGroupSpecs=[]))

    assert made["spec"]["podSets"][0]["template"] == head["template"]


def test_the_submitter_sidecar_of_a_ray_job_is_counted() -> None:
    made = composed(ray_job(submissionMode="SidecarMode"))

    assert [each["name"] for each in made["spec"]["podSets"]] == ["head", "small"]
    *_, submitter = made["spec"]["podSets"][0]["template"]["spec"]["containers"]
    assert (submitter["name"], submitter["resources"]["requests"]) == (
        "ray-job-submitter",
        {"cpu": "500m", "memory": "200Mi"},
    )


def test_a_kubeflow_job_has_ordered_roles_and_the_priority_of_its_policy() -> None:
    replicas = {"Worker": {"replicas": 4, "template": TEMPLATE}, "Master": {"template": TEMPLATE}}
    policy = {"schedulingPolicy": {"priorityClass": "pods"}}
    made = composed(job("PyTorchJob", "kubeflow.org/v1", pytorchReplicaSpecs=replicas, runPolicy=policy))

    assert [(entry["name"], entry["count"]) for entry in made["spec"]["podSets"]] == [("master", 1), ("worker", 4)]
    assert made["spec"]["priority"] == 7


def test_a_replicated_job_has_a_topology_subgroup_for_each_replica() -> None:
    template = {"spec": {"template": {"spec": {"containers": []}}, "parallelism": 4}}
    replicated = [{"name": "work", "replicas": 3, "template": template}, {"name": "lead", "template": template}]
    meta = {"name": "set", "namespace": "ns", "uid": "u", "labels": {f"{K}queue-name": "q"}}
    job_set = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": meta}

    made = workload_of_job({**job_set, "spec": {"replicatedJobs": replicated}}, PriorityClasses())

    assert made is not None
    assert [each["count"] for each in made["spec"]["podSets"]] == [12, 4]
    assert [each["topologyRequest"] for each in made["spec"]["podSets"]] == [
        {
            "subGroupIndexLabel": "jobset.sigs.k8s.io/job-index",
            "subGroupCount": replicas,
            "podIndexLabel": "batch.kubernetes.io/job-completion-index",
        }
        for replicas in (3, 1)
    ]


def test_the_pod_index_label_is_set_without_a_topology_request() -> None:
    """Their queue may have only flavors with topologies; then the label decides which Pod goes to which domain."""
    single = builders.pod(labels=queued("main"))
    grouped = builders.pod(labels={**queued("main"), f"{K}pod-group-name": "g"})
    grouped["metadata"]["annotations"] = {f"{K}pod-group-total-count": "1"}
    made = (
        composed(batch({**TEMPLATE})),
        workload_of_pod(single, PriorityClasses()),
        workload_of_group([grouped], PriorityClasses()),
    )
    assert [each["spec"]["podSets"][0]["topologyRequest"] for each in made if each is not None] == [
        {"podIndexLabel": "batch.kubernetes.io/job-completion-index"},
        {"podIndexLabel": f"{K}pod-group-pod-index"},
        {"podIndexLabel": f"{K}pod-group-pod-index"},
    ]


def test_gates_decide_which_topology_request_is_made() -> None:
    layers = '[{"topology": "rack", "size": 2}]'
    notes = {f"{K}podset-required-topology": "block", f"{K}podset-slice-required-topology-constraints": layers}
    job = batch({"metadata": {"annotations": notes}, **TEMPLATE})

    def asked(gates: RequestGates) -> object:
        made = workload_of_job(job, PriorityClasses(), gates=gates)
        assert made is not None
        return made["spec"]["podSets"][0].get("topologyRequest")

    index = {"podIndexLabel": "batch.kubernetes.io/job-completion-index"}
    assert asked(RequestGates()) == {
        "required": "block",
        "podsetSliceRequiredTopologyConstraints": [{"topology": "rack", "size": 2}],
        **index,
    }
    assert asked(RequestGates(layers=False)) == {"required": "block", **index}
    assert asked(RequestGates(enabled=False)) is None
