"""How Pods with a LocalQueue are gated, and what templates pass on to their Pods."""

from __future__ import annotations

from typing import Any

import jsonpatch
import pytest

from policies.amounts.role_hash import role_hash
from policies.configuration.kueue.gates import KueueVersion
from policies.configuration.settings import AdmissionSettings, Configuration, KueueSettings, YuniKornSettings
from policies.dialects.frameworks.replicated import LEADER
from policies.dialects.kueue_jobs import job_reader
from policies.dialects.naming import NAMING
from policies.model.change import ChangeOperation, User
from policies.model.forest import Forest
from policies.model.objects import GroupKind
from policies.mutation.defaults import patch
from tests import builders
from tests.builders import world

K = "kueue.x-k8s.io/"
QUEUE = f"{K}queue-name"
MANAGED = f"{K}managed"
PARENT = f"{K}pod-suspending-parent"
ON = Configuration(kueue=KueueSettings(manage_pods=True))
JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
TEMPLATED = {"template": {"spec": {"containers": []}}}
NOTHING = Forest()
SPEC = {"containers": [{"name": "main", "image": "a", "resources": {"requests": {"cpu": "1"}}}]}


def pod(spec: Any = None, **metadata: Any) -> dict[str, Any]:
    return builders.pod(spec=spec or SPEC, **metadata)


def replicas(kind: str, spec: Any, api: str = "apps/v1", **metadata: Any) -> dict[str, Any]:
    return builders.manifest(api, kind, "d", spec, namespace="ns", **metadata)


def completed(
    manifest: dict[str, Any],
    configuration: Configuration = ON,
    operation: ChangeOperation = ChangeOperation.CREATE,
    forest: Forest = NOTHING,
) -> dict[str, Any]:
    """The object with the patch applied; applied to that, it changes nothing more."""
    done: dict[str, Any] = jsonpatch.apply_patch(manifest, patch(manifest, forest, configuration, operation))
    assert patch(done, forest, configuration, operation) == []
    return done


def gates(done: dict[str, Any]) -> list[str]:
    return [gate["name"] for gate in done["spec"].get("schedulingGates", [])]


def test_pod_with_a_queue_is_gated_and_labelled() -> None:
    done = completed(pod(labels={QUEUE: "a"}))

    assert gates(done) == [f"{K}admission"]
    assert done["metadata"] == {
        "name": "p",
        "namespace": "ns",
        "labels": {QUEUE: "a", MANAGED: "true"},
        "annotations": {f"{K}role-hash": role_hash(SPEC)},
        "finalizers": [MANAGED],
    }


def test_mirror_pod_is_not_gated_only_if_created_by_the_kubelet() -> None:
    mirror = pod(labels={QUEUE: "a"}, annotations={"kubernetes.io/config.mirror": "hash"})
    kubelet = User("system:node:n", ("system:nodes", "system:authenticated"))

    assert patch(mirror, NOTHING, ON, user=kubelet) == []
    assert gates(completed(mirror)) == [f"{K}admission"]


def test_a_pod_without_a_priority_class_gets_the_default_one_in_kueue_0_20() -> None:
    newer = Configuration(kueue=KueueSettings(version=KueueVersion.V0_20, manage_pods=True))
    usual = world(builders.manifest(f"{K}v1beta2", "WorkloadPriorityClass", "default"))

    def found(**metadata: Any) -> str | None:
        given: str | None = completed(pod(**metadata), newer, forest=usual)["metadata"]["labels"].get(
            f"{K}priority-class"
        )
        return given

    assert found(labels={QUEUE: "a"}) == "default"
    assert found(labels={QUEUE: "a", f"{K}priority-class": "high"}) == "high"
    assert found(labels={QUEUE: "a"}, annotations={PARENT: "deployment"}) is None, "its template says so"


def test_gates_and_finalizers_of_others_stay() -> None:
    spec = {**SPEC, "schedulingGates": [{"name": "example.com/other"}]}

    done = completed(pod(spec, labels={QUEUE: "a"}, finalizers=["example.com/kept"]))

    assert gates(done) == ["example.com/other", f"{K}admission"]
    assert done["metadata"]["finalizers"] == ["example.com/kept", MANAGED]


@pytest.mark.parametrize(
    ("metadata", "configuration"),
    [
        ({"labels": {QUEUE: "a"}}, Configuration()),
        ({"labels": {"app": "x"}}, ON),
        ({"labels": {QUEUE: ""}}, ON),
    ],
    ids=["not switched on", "no queue", "an empty queue"],
)
def test_unqueued_or_unmanaged_pods_are_not_patched(metadata: dict[str, Any], configuration: Configuration) -> None:
    assert patch(pod(**metadata), Forest(), configuration) == []


def owner(cpu: str = "1", *, uid: str = "u", suspend: bool = False, **labels: str) -> Forest:
    """A job of one pod, as the webhook finds it."""
    spec = {"suspend": suspend, "template": builders.template(cpu)}
    return world(builders.batch_job("j", spec, uid=uid, labels={QUEUE: "a", **labels}))


def test_a_pod_of_a_job_that_runs_is_left_alone() -> None:
    assert patch(pod(labels={QUEUE: "a"}, ownerReferences=[JOB]), owner(), ON) == []


@pytest.mark.parametrize(
    "forest",
    [Forest(), owner(uid="another"), owner(suspend=True), owner("500m"), owner(**{QUEUE: ""})],
    ids=["no owner", "another uid", "an owner that waits", "an owner that is smaller", "an owner without a queue"],
)
def test_pod_is_gated_unless_its_owner_is_a_running_queued_job_of_its_size(forest: Forest) -> None:
    held = completed(pod(labels={QUEUE: "a"}, ownerReferences=[JOB]), forest=forest)

    assert gates(held) == [f"{K}admission"]


CONTROLLER = User("system:serviceaccount:kube-system:job-controller")


def test_pod_with_limit_range_defaults_still_matches_its_job() -> None:
    spec = {"containers": [builders.container(cpu="1", memory="1Gi")]}

    assert patch(pod(spec, labels={QUEUE: "a"}, ownerReferences=[JOB]), owner(), ON, user=CONTROLLER) == []


TENANTS = [User("tina"), User("system:serviceaccount:ns:default")]
MARKS = {"labels": {f"{K}podset": "main"}, "annotations": {f"{K}workload": "w", f"{K}workload-slice-name": "w"}}


@pytest.mark.parametrize("user", TENANTS, ids=["a person", "an account of the namespace"])
@pytest.mark.parametrize("requests", [{"cpu": "2"}, {"cpu": "1", "memory": "1Gi"}], ids=["more", "something else"])
def test_pod_created_by_a_tenant_is_gated_if_it_requests_more_than_its_job(
    user: User, requests: dict[str, str]
) -> None:
    elastic = batch_of_two(annotations={f"{K}elastic-job": "true"})
    larger = pod({"containers": [builders.container(**requests)]}, labels={QUEUE: "a"}, ownerReferences=[JOB])

    for above in (batch_of_two(), elastic):
        assert gates(jsonpatch.apply_patch(larger, patch(larger, above, ON, user=user))) == [f"{K}admission"]
        assert patch(pod(labels={QUEUE: "a"}, ownerReferences=[JOB]), above, ON, user=user) == []


def batch_of_two(**metadata: Any) -> Forest:
    """A job of two pods, as the webhook finds it."""
    spec = {"suspend": False, "parallelism": 2, "completions": 2, "template": builders.template("1")}
    return world(builders.batch_job("j", spec, uid="u", labels={QUEUE: "a"}, **metadata))


@pytest.mark.parametrize("user", TENANTS, ids=["a person", "an account of the namespace"])
@pytest.mark.parametrize("owners", [[], [{**JOB, "apiVersion": "v1", "kind": "ConfigMap"}], [JOB]])
@pytest.mark.parametrize("labels", [{}, {QUEUE: "a"}], ids=["without a queue", "with a queue"])
def test_admission_labels_on_a_pod_created_by_a_tenant_are_removed(
    user: User, owners: list[dict[str, Any]], labels: dict[str, str]
) -> None:
    claims = pod(ownerReferences=owners, labels={**MARKS["labels"], **labels}, annotations=MARKS["annotations"])

    done: dict[str, Any] = jsonpatch.apply_patch(claims, patch(claims, NOTHING, ON, user=user))

    left = {*done["metadata"]["labels"], *done["metadata"]["annotations"]}
    assert left.isdisjoint({*MARKS["labels"], *MARKS["annotations"]})
    kept: dict[str, Any] = jsonpatch.apply_patch(claims, patch(claims, NOTHING, ON, user=CONTROLLER))
    assert {*MARKS["labels"]} <= {*kept["metadata"]["labels"]}, "a controller may make Pods of a kind that is not known"


WORKLOAD, SLICE = {f"{K}workload": "w"}, {f"{K}workload-slice-name": "w"}


@pytest.mark.parametrize("user", TENANTS, ids=["a person", "an account of the namespace"])
@pytest.mark.parametrize(
    ("podset", "annotations"),
    [
        ("main", {**WORKLOAD, f"{K}workload-slice-name": "of-others"}),
        ("another", {**WORKLOAD, f"{K}podset": "main"}),
        ("main", {f"{K}workload": "of-others"}),
        ("main", {}),
    ],
    ids=["one mark more", "an annotation in place of the label", "another value", "one mark less"],
)
def test_pod_created_by_a_tenant_is_gated_if_its_admission_labels_differ_from_the_template(
    user: User, podset: str, annotations: dict[str, str]
) -> None:
    started = builders.template("1") | {"metadata": {"labels": {f"{K}podset": "main"}, "annotations": WORKLOAD}}
    above = world(builders.batch_job("j", {"suspend": False, "template": started}, uid="u", labels={QUEUE: "a"}))

    def made(podset: str, annotations: dict[str, str]) -> dict[str, Any]:
        labels = {QUEUE: "a", f"{K}podset": podset}
        return pod(labels=labels, annotations=annotations, ownerReferences=[JOB])

    forged = made(podset, annotations)
    done: dict[str, Any] = jsonpatch.apply_patch(forged, patch(forged, above, ON, user=user))

    assert gates(done) == [f"{K}admission"]
    assert f"{K}podset" not in done["metadata"]["labels"]
    assert {*WORKLOAD, *SLICE}.isdisjoint(done["metadata"]["annotations"])
    assert patch(made("main", WORKLOAD), above, ON, user=user) == [], "as its controller creates it"
    assert patch(made("main", {**WORKLOAD, **SLICE}), above, ON, user=CONTROLLER) == []


PLACED = {f"{K}podset-required-topology": "rack"}


@pytest.mark.parametrize(("of_template", "of_pod"), [(PLACED, {}), ({}, PLACED)])
def test_pod_created_by_a_tenant_is_gated_if_its_topology_differs_from_the_template(
    of_template: dict[str, str], of_pod: dict[str, str]
) -> None:
    started = builders.template("1") | {
        "metadata": {"labels": {f"{K}podset": "main"}, "annotations": {**WORKLOAD, **of_template}}
    }
    above = world(builders.batch_job("j", {"suspend": False, "template": started}, uid="u", labels={QUEUE: "a"}))

    def made(notes: dict[str, str]) -> dict[str, Any]:
        labels = {QUEUE: "a", f"{K}podset": "main"}
        return pod(labels=labels, annotations={**WORKLOAD, **notes}, ownerReferences=[JOB])

    forged: dict[str, Any] = jsonpatch.apply_patch(made(of_pod), patch(made(of_pod), above, ON, user=User("anna")))

    assert f"{K}admission" in gates(forged)
    assert f"{K}podset" not in forged["metadata"]["labels"]
    assert patch(made(of_template), above, ON, user=User("anna")) == []


def test_template_is_annotated_unless_its_owner_is_queued() -> None:
    owner = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "l", "uid": "u"}
    child = replicas("StatefulSet", TEMPLATED, labels={QUEUE: "a"}, ownerReferences=[{**owner, "controller": True}])
    parent = {"apiVersion": owner["apiVersion"], "kind": owner["kind"]}
    meta = {"name": "l", "namespace": "ns", "uid": "u", "labels": {QUEUE: "a"}}

    assert patch(child, world({**parent, "metadata": meta}), ON) == []
    assert PARENT in completed(child)["spec"]["template"]["metadata"]["annotations"]


def test_pod_of_a_stateful_set_is_gated_itself() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "controller": True}

    done = completed(pod(labels={QUEUE: "a"}, annotations={PARENT: "statefulset"}, ownerReferences=[owner]))

    assert gates(done) == [f"{K}admission"]
    assert (done["metadata"]["labels"][MANAGED], done["metadata"]["finalizers"]) == ("true", [MANAGED])


def test_pod_with_a_topology_request_gets_a_topology_gate() -> None:
    notes = {f"{K}podset-required-topology": "rack"}
    manifest = pod(labels={QUEUE: "a"}, annotations=notes)

    done = completed(manifest)
    without = completed(manifest, Configuration(kueue=KueueSettings({"TopologyAwareScheduling": False}, False, True)))

    assert gates(done) == [f"{K}admission", f"{K}topology"]
    assert done["metadata"]["labels"][f"{K}tas"] == "true"
    assert gates(without) == [f"{K}admission"]


def test_pod_group_members_have_a_role_hash_that_ignores_images() -> None:
    group = {QUEUE: "a", f"{K}pod-group-name": "g"}
    other = {"containers": [{**SPEC["containers"][0], "image": "b", "resources": {"requests": {"cpu": "1000m"}}}]}
    larger = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}

    hashes = [completed(pod(spec, labels=group))["metadata"]["annotations"] for spec in (SPEC, other, larger)]

    assert hashes[0] == {f"{K}role-hash": role_hash(SPEC)} == hashes[1]
    assert hashes[2] != hashes[0]


def test_labels_added_by_kueue_and_yunikorn_defaults_are_merged() -> None:
    """Both add labels to a Pod without any; the second must not remove the labels of the first."""
    both = Configuration(
        kueue=KueueSettings(manage_pods=True),
        yunikorn=YuniKornSettings(admission=AdmissionSettings(scheduler_name="always", labels=True)),
    )
    done = completed(pod(annotations={PARENT: "deployment"}), both)

    assert done["metadata"]["labels"][MANAGED] == "true"
    assert done["metadata"]["labels"].keys() > {MANAGED}


DEFAULT = world(builders.kueue("LocalQueue", "default", {"clusterQueue": "cq"}, namespace="ns"))
REPLICA_SET = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
DAEMON_SET = {**REPLICA_SET, "kind": "DaemonSet"}


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"labels": {QUEUE: ""}},
        {"ownerReferences": [DAEMON_SET]},
        {"ownerReferences": [REPLICA_SET]},
        {"ownerReferences": [JOB]},
    ],
)
def test_a_pod_without_a_queue_goes_to_the_default_one(metadata: dict[str, Any]) -> None:
    done = completed(pod(**metadata), forest=DEFAULT)

    assert done["metadata"]["labels"] == {QUEUE: "default", MANAGED: "true"}
    assert gates(done) == [f"{K}admission"]


def test_default_queue_of_another_namespace_is_not_used() -> None:
    elsewhere = world(builders.kueue("LocalQueue", "default", {"clusterQueue": "cq"}, namespace="other"))

    assert patch(pod(), elsewhere, ON) == []


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_a_deployment_without_a_queue_goes_to_the_default_one_when_it_is_created(kind: str) -> None:
    made = replicas(kind, TEMPLATED)
    done = completed(made, forest=DEFAULT)

    assert done["metadata"]["labels"] == {QUEUE: "default"}
    assert done["spec"]["template"]["metadata"]["labels"] == {QUEUE: "default"}
    assert patch(made, DEFAULT, ON, ChangeOperation.UPDATE) == [], "what runs stays as it is"
    jobs_only = Configuration(kueue=KueueSettings(manage_jobs=True))
    assert patch(made, DEFAULT, jobs_only) == [], "nobody would queue its Pods"


@pytest.mark.parametrize(("kind", "name"), [("Deployment", "deployment"), ("StatefulSet", "statefulset")])
@pytest.mark.parametrize("operation", [ChangeOperation.CREATE, ChangeOperation.UPDATE])
def test_a_template_takes_over_queue_and_priority(kind: str, name: str, operation: ChangeOperation) -> None:
    labels = {QUEUE: "a", f"{K}priority-class": "high", "app": "x"}
    template = {"metadata": {"labels": {"app": "x", QUEUE: "old"}}, "spec": SPEC}

    done = completed(replicas(kind, {"template": template}, labels=labels), operation=operation)

    numbered = {f"{K}pod-group-pod-index-label": "apps.kubernetes.io/pod-index"} if kind == "StatefulSet" else {}
    assert done["spec"]["template"]["metadata"] == {"labels": labels, "annotations": {PARENT: name, **numbered}}


def test_both_templates_of_a_leader_worker_set_are_annotated() -> None:
    spec = {"leaderWorkerTemplate": {"size": 2, "leaderTemplate": {"spec": SPEC}, "workerTemplate": {"spec": SPEC}}}

    done = completed(replicas("LeaderWorkerSet", spec, "leaderworkerset.x-k8s.io/v1", labels={QUEUE: "a"}))

    expected = {
        "labels": {QUEUE: "a"},
        "annotations": {
            PARENT: "leaderworkerset.x-k8s.io/leaderworkerset",
            f"{K}pod-group-pod-index-label": "leaderworkerset.sigs.k8s.io/worker-index",
        },
    }
    inner = done["spec"]["leaderWorkerTemplate"]
    assert inner["leaderTemplate"]["metadata"] == expected
    assert inner["workerTemplate"]["metadata"] == {
        **expected,
        "annotations": {**expected["annotations"], f"{K}pod-index-offset": "1"},
    }


# --- groups of StatefulSets and LeaderWorkerSets

GROUP, SIZE, ROLE = f"{K}pod-group-name", f"{K}pod-group-total-count", f"{K}role-hash"
FAST, SERVING = f"{K}pod-group-fast-admission", f"{K}pod-group-serving"
LWS = "leaderworkerset.sigs.k8s.io/"


def owned(owner: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """A Pod that this object controls, with the labels and annotations of its template."""
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
    reference |= {key: owner["metadata"][key] for key in ("name", "uid")}
    labels = {QUEUE: "a", **metadata.pop("labels", {})}
    notes = {PARENT: "by its template", **metadata.pop("annotations", {})}
    return pod(labels=labels, annotations=notes, ownerReferences=[reference], **metadata)


def stateful_set(name: str = "web", replicas: int = 3, **metadata: Any) -> dict[str, Any]:
    meta = {"labels": {QUEUE: "a"}, "uid": f"uid-{name}", **metadata}
    spec = {"replicas": replicas, "template": {"spec": SPEC}}
    return builders.manifest("apps/v1", "StatefulSet", name, spec, namespace="ns", **meta)


def notes_of(made: dict[str, Any], *stored: dict[str, Any], configuration: Configuration = ON) -> dict[str, str]:
    forest = world(*stored)
    found: dict[str, str] = completed(made, configuration, forest=forest)["metadata"]["annotations"]
    return {key: value for key, value in found.items() if key != PARENT}


def test_a_pod_of_a_stateful_set_joins_its_group() -> None:
    """Kueue's manager gives the Workload the same name."""
    parent = stateful_set()
    name = NAMING.workload(GroupKind("apps", "StatefulSet"), "web", "uid-web")

    assert notes_of(owned(parent), parent) == {GROUP: name, SIZE: "3", ROLE: "main", SERVING: "true", FAST: "true"}


def test_a_pod_of_a_stateful_set_without_a_queue_or_with_another_uid_joins_no_group() -> None:
    parent = stateful_set()

    assert notes_of(owned(parent)).keys() == {ROLE}
    assert notes_of(owned(parent), stateful_set(labels={})).keys() == {ROLE}
    assert notes_of(owned(parent), stateful_set(uid="other")).keys() == {ROLE}


def test_a_pod_keeps_the_group_that_its_template_names() -> None:
    parent = stateful_set()
    named = {GROUP: "mine", SIZE: "7"}

    assert notes_of(owned(parent, annotations=named), parent) == {**named, ROLE: role_hash(SPEC)}


def test_a_pod_has_its_group_in_a_label_without_the_gate_for_annotations() -> None:
    parent = stateful_set()
    labelled = Configuration(
        kueue=KueueSettings(manage_pods=True, feature_gates={"WorkloadIdentifierAnnotations": False})
    )

    done = completed(owned(parent), labelled, forest=world(parent))["metadata"]

    assert done["labels"][GROUP].startswith("statefulset-web-")
    assert GROUP not in done["annotations"]


def leader_worker_set(**spec: Any) -> tuple[dict[str, Any], ...]:
    """A LeaderWorkerSet of groups of 4, and the objects between it and its Pods: the StatefulSet of the leaders, the
    leader of group 2, and the StatefulSet of its workers.
    """
    template = {"size": 4, "leaderTemplate": {"spec": SPEC}, "workerTemplate": {"spec": SPEC}, **spec.pop("led", {})}
    made = replicas(
        "LeaderWorkerSet",
        {"leaderWorkerTemplate": {key: value for key, value in template.items() if value}, **spec},
        "leaderworkerset.x-k8s.io/v1",
        labels={QUEUE: "a"},
        uid="uid-llm",
    )
    leaders = {**stateful_set("d"), "metadata": {**stateful_set("d")["metadata"], **owned(made)["metadata"]}}
    leaders["metadata"] |= {"name": "d", "uid": "uid-d"}
    leader = owned(leaders, name="d-2", uid="uid-d-2", labels={f"{LWS}group-index": "2"})
    workers = {**leaders, "metadata": {**owned(leader)["metadata"], "name": "d-2", "uid": "uid-workers"}}
    return made, leaders, leader, workers


def test_pods_of_a_leader_worker_set_join_the_group_of_their_leader() -> None:
    made, leaders, leader, workers = leader_worker_set()
    index = {f"{LWS}group-index": "2"}
    worker = owned(workers, labels=index, annotations={f"{LWS}leader-name": "d-2"})
    group = {
        GROUP: NAMING.workload(GroupKind("leaderworkerset.x-k8s.io", "LeaderWorkerSet"), "d-2", "uid-llm"),
        SIZE: "4",
        SERVING: "true",
    }

    assert notes_of(leader, made, leaders) == {**group, ROLE: "leader"}
    above = world(made, leaders, workers).put(job_reader(LEADER)(leader))
    found = completed(worker, forest=above)["metadata"]["annotations"]
    assert {key: found[key] for key in (*group, ROLE)} == {**group, ROLE: "worker"}
    assert FAST not in found


def test_leaders_without_a_template_of_their_own_have_the_role_of_workers() -> None:
    made, leaders, leader, _ = leader_worker_set(led={"leaderTemplate": None})

    found = notes_of(leader, made, leaders)

    assert (found[ROLE], found[FAST], found[SIZE]) == ("main", "true", "4")


def test_a_leader_that_must_be_ready_first_is_admitted_alone() -> None:
    made, leaders, leader, _ = leader_worker_set(startupPolicy="LeaderReady")

    assert GROUP not in notes_of(leader, made, leaders)


@pytest.mark.parametrize(
    "manifest",
    [
        replicas("Deployment", {"template": {"spec": SPEC}}),
        replicas("Deployment", {}, labels={QUEUE: "a"}),
        replicas("Deployment", {"template": "x"}, labels={QUEUE: "a"}),
        replicas("Deployment", None, labels={QUEUE: "a"}),
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": None, "spec": {}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {QUEUE: "a"}}, "spec": None},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {QUEUE: 5}}, "spec": SPEC},
    ],
)
def test_incomplete_workload_is_not_patched(manifest: dict[str, Any]) -> None:
    assert patch(manifest, Forest(), ON) == []


ELASTIC = Configuration(kueue=KueueSettings(manage_jobs=True))
RIGID = Configuration(kueue=KueueSettings({"ElasticJobsViaWorkloadSlices": False}, manage_jobs=True))
GROWS = {"labels": {QUEUE: "a"}, "annotations": {f"{K}elastic-job": "true"}}


def test_pods_of_an_elastic_job_get_the_elastic_job_gate() -> None:
    manifest = replicas("Job", {"suspend": True, "template": {"spec": SPEC}}, "batch/v1", **GROWS)

    done = completed(manifest, ELASTIC)

    assert gates(done["spec"]["template"]) == [f"{K}elastic-job"]
    assert patch(manifest, Forest(), RIGID) == []


def test_all_pods_of_an_elastic_ray_cluster_get_the_elastic_job_gate() -> None:
    workers = [{"groupName": "w", "template": {"spec": SPEC}}, {"groupName": "none"}]
    spec = {"suspend": True, "headGroupSpec": {"template": {"spec": SPEC}}, "workerGroupSpecs": workers}

    done = completed(replicas("RayCluster", spec, "ray.io/v1", **GROWS), ELASTIC)["spec"]

    assert gates(done["headGroupSpec"]["template"]) == [f"{K}elastic-job"]
    assert gates(done["workerGroupSpecs"][0]["template"]) == [f"{K}elastic-job"]


@pytest.mark.parametrize("metadata", [{"labels": {QUEUE: "a"}}, {"annotations": GROWS["annotations"]}])
def test_pods_of_jobs_that_are_not_elastic_or_not_queued_get_no_elastic_job_gate(metadata: dict[str, Any]) -> None:
    manifest = replicas("Job", {"suspend": True, "template": {"spec": SPEC}}, "batch/v1", **metadata)

    assert patch(manifest, Forest(), ELASTIC) == []


def test_pod_with_multi_layer_slices_gets_a_topology_gate() -> None:
    notes = {f"{K}podset-slice-required-topology-constraints": '[{"topology": "rack", "size": 2}]'}

    assert gates(completed(pod(labels={QUEUE: "a"}, annotations=notes))) == [f"{K}admission", f"{K}topology"]


def test_stateful_set_pods_get_no_index_label_annotation_without_topologies() -> None:
    off = Configuration(kueue=KueueSettings(manage_pods=True, feature_gates={"TopologyAwareScheduling": False}))
    without = completed(replicas("StatefulSet", TEMPLATED, labels={QUEUE: "a"}), off)

    assert without["spec"]["template"]["metadata"]["annotations"] == {PARENT: "statefulset"}


@pytest.mark.parametrize(
    ("leader", "notes", "offset"),
    [({}, {}, "1"), (None, {}, None), ({}, {f"{K}podset-group-name": "g"}, None)],
    ids=["led", "without a leader", "one group with its leader"],
)
def test_worker_pods_with_a_leader_have_a_pod_index_offset(leader: Any, notes: Any, offset: str | None) -> None:
    worker = {"metadata": {"annotations": notes}, "spec": {"containers": []}}
    templates = {"workerTemplate": worker} | ({} if leader is None else {"leaderTemplate": leader})
    spec = {"leaderWorkerTemplate": {"size": 3, **templates}}
    done = completed(replicas("LeaderWorkerSet", spec, "leaderworkerset.x-k8s.io/v1", labels={QUEUE: "a"}))
    found = done["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]["annotations"]

    assert found.get(f"{K}pod-index-offset") == offset


@pytest.mark.parametrize(
    ("as_worker", "notes", "offset"),
    [(True, {}, "1"), (False, {}, None), (True, {f"{K}podset-group-name": "g"}, None)],
    ids=["launcher as worker", "launcher alone", "one group with its launcher"],
)
def test_mpi_worker_pods_have_a_pod_index_offset_if_the_launcher_is_a_worker(
    as_worker: bool, notes: Any, offset: str | None
) -> None:
    launcher = {"template": {"metadata": {"annotations": notes}, "spec": {"containers": []}}}
    roles = {"Launcher": launcher, "Worker": {"template": {"spec": {"containers": []}}}}
    spec = {"runLauncherAsWorker": as_worker, "mpiReplicaSpecs": roles}
    configuration = Configuration(kueue=KueueSettings(manage_jobs=True))
    done = completed(replicas("MPIJob", spec, "kubeflow.org/v2beta1", labels={QUEUE: "a"}), configuration)
    worker = done["spec"]["mpiReplicaSpecs"]["Worker"]["template"]

    assert worker.get("metadata", {}).get("annotations", {}).get(f"{K}pod-index-offset") == offset
