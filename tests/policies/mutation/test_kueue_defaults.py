"""What is filled in for Kueue's objects and for the jobs that Kueue queues."""

from __future__ import annotations

from typing import Any

import jsonpatch
import pytest

from policies.configuration.kueue.gates import KueueVersion
from policies.configuration.settings import Configuration, KueueSettings
from policies.dialects.selectors import LabelSelector, Requirement
from policies.model.findings import Profile
from policies.model.forest import Forest
from policies.mutation.defaults import patch
from tests.builders import cluster_queue, local_queue, manifest, typed, world
from tests.described_jobs import WRAPPERS

MANAGED = Configuration(kueue=KueueSettings(manage_jobs=True))
QUEUE = "kueue.x-k8s.io/queue-name"
DEFAULT = world(local_queue("default", "ml"))
IN_USE = "kueue.x-k8s.io/resource-in-use"


def job(kind: str = "Job", api_version: str = "batch/v1", *, spec: Any = None, **metadata: Any) -> dict[str, Any]:
    return manifest(api_version, kind, "job", {} if spec is None else spec, **{"namespace": "ns", **metadata})


def completed(manifest: dict[str, Any], forest: Forest, configuration: Configuration = MANAGED) -> dict[str, Any]:
    """The object with the patch applied; applied to that, it changes nothing more."""
    done: dict[str, Any] = jsonpatch.apply_patch(manifest, patch(manifest, forest, configuration))
    assert patch(done, forest, configuration) == []
    return done


def test_a_job_that_names_a_queue_is_suspended() -> None:
    done = completed(job(labels={QUEUE: "a"}), Forest())

    assert done["spec"] == {"suspend": True}
    assert done["metadata"]["labels"] == {QUEUE: "a"}


def test_kubeflow_job_is_suspended_in_run_policy() -> None:
    done = completed(job("TFJob", "kubeflow.org/v1", labels={QUEUE: "a"}), Forest())

    assert done["spec"] == {"runPolicy": {"suspend": True}}


def test_other_fields_of_run_policy_are_kept() -> None:
    spec = {"runPolicy": {"cleanPodPolicy": "All", "suspend": False}}

    done = completed(job("TFJob", "kubeflow.org/v1", labels={QUEUE: "a"}, spec=spec), Forest())

    assert done["spec"] == {"runPolicy": {"cleanPodPolicy": "All", "suspend": True}}


@pytest.mark.parametrize("labels", [{}, {"labels": {"app": "x"}}], ids=["no labels", "other labels"])
def test_a_job_without_a_queue_goes_to_the_default_one(labels: dict[str, Any]) -> None:
    done = completed(job(**labels), DEFAULT)

    assert done["metadata"]["labels"] == {**labels.get("labels", {}), QUEUE: "default"}
    assert done["spec"] == {"suspend": True}


def test_job_without_a_queue_is_not_patched_without_a_default_queue() -> None:
    assert patch(job(), world(local_queue("default", "ml", "elsewhere")), MANAGED) == []


BATCHES = LabelSelector((Requirement("batch", "In", frozenset(["yes"])),))


@pytest.mark.parametrize(
    ("labels", "managed"),
    [({"batch": "yes"}, True), ({"batch": "no"}, False), ({}, False), (None, True)],
    ids=["selected", "another value", "no label", "not known yet"],
)
def test_work_is_managed_in_selected_namespaces_alone(labels: dict[str, str] | None, managed: bool) -> None:
    settings = KueueSettings(manage_jobs=True, manage_pods=True, namespaces=BATCHES)
    known = [manifest("v1", "Namespace", "ns", labels=labels)] if labels is not None else []
    forest, asked = world(local_queue("default", "ml"), *known), Configuration(kueue=settings)
    named = {"labels": {QUEUE: "a"}}

    for work in (job(**named), job(), job("TFJob", "kubeflow.org/v1", **named), job("Deployment", "apps/v1")):
        assert bool(patch(work, forest, asked)) == managed
    for pod in (job("Pod", "v1", **named), job("Pod", "v1")):
        assert bool(patch(pod, forest, asked)) == managed


def test_work_of_other_kinds_than_the_named_ones_is_left_alone() -> None:
    settings = KueueSettings(manage_jobs=True, manage_pods=True, frameworks=("batch/job", "pod"))
    asked, named = Configuration(kueue=settings), {"labels": {QUEUE: "a"}}

    assert patch(job(**named), Forest(), asked)
    assert patch(job("Pod", "v1", **named), Forest(), asked)
    assert patch(job("TFJob", "kubeflow.org/v1", **named), Forest(), asked) == []
    assert patch(job("Deployment", "apps/v1", **named), Forest(), asked) == []


def test_a_described_kind_is_managed_whatever_kinds_are_named() -> None:
    settings = KueueSettings(manage_jobs=True, frameworks=("batch/job",))
    wrapper = job("AppWrapper", "workload.codeflare.dev/v1beta2", labels={QUEUE: "a"})

    assert patch(wrapper, Forest(), Configuration(kueue=settings)) == []
    assert completed(wrapper, Forest(), Configuration(kueue=settings, reconciler=WRAPPERS))["spec"] == {"suspend": True}


SET = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "set", "uid": "u", "controller": True}


@pytest.mark.parametrize(
    ("labels", "reference", "suspended"),
    [
        ({"batch": "yes"}, [], True),
        ({"batch": "yes"}, [SET], False),
        ({"batch": "yes"}, [{**SET, "uid": "another"}], True),
        ({}, [], False),
        (None, [], False),
    ],
    ids=["alone", "a child", "of another uid", "not selected", "not known yet"],
)
def test_job_without_a_queue_is_suspended_if_such_jobs_are_managed(
    labels: dict[str, str] | None, reference: list[dict[str, Any]], suspended: bool
) -> None:
    """A child is left to the reconciler, which knows its siblings; so is a job in a namespace that is not known yet."""
    settings = KueueSettings(manage_jobs=True, namespaces=BATCHES, without_queue=True)
    above = manifest(SET["apiVersion"], "JobSet", "set", {}, namespace="ns", uid="u")
    known = [manifest("v1", "Namespace", "ns", labels=labels)] if labels is not None else []
    operations = patch(job(ownerReferences=reference), world(above, *known), Configuration(kueue=settings))

    assert operations == ([{"op": "add", "path": "/spec/suspend", "value": True}] if suspended else [])


def test_deployment_gets_the_default_queue_and_is_not_suspended() -> None:
    done = completed(job("Deployment", "apps/v1"), DEFAULT, Configuration(kueue=KueueSettings(manage_pods=True)))

    assert done["metadata"]["labels"] == {QUEUE: "default"}
    assert done["spec"] == {}


def test_job_owned_by_a_running_queued_job_is_not_suspended() -> None:
    kind = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
    child = job(ownerReferences=[{**kind, "name": "set", "uid": "1", "controller": True}])
    above = manifest(
        kind["apiVersion"], "JobSet", "set", {"suspend": False}, namespace="ns", uid="1", labels={QUEUE: "a"}
    )

    assert completed(child, DEFAULT.put_all([typed(above)]))["spec"] == {}
    above["spec"]["suspend"] = True
    assert completed(child, DEFAULT.put_all([typed(above)]))["spec"] == {"suspend": True}
    assert completed(child, DEFAULT)["spec"] == {"suspend": True}, "nobody knows it"


CLASS = "kueue.x-k8s.io/priority-class"
USUAL = manifest("kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass", "default")
NEWER = Configuration(kueue=KueueSettings(version=KueueVersion.V0_20, manage_jobs=True, manage_pods=True))


@pytest.mark.parametrize("kind", [("Job", "batch/v1"), ("Deployment", "apps/v1")])
def test_work_without_a_priority_class_gets_the_default_one_in_kueue_0_20(kind: tuple[str, str]) -> None:
    forest, other = DEFAULT.put_all([typed(USUAL)]), {QUEUE: "a", CLASS: "high"}

    def labels(configuration: Configuration, forest: Forest = forest, **metadata: Any) -> dict[str, str]:
        found: dict[str, str] = completed(job(*kind, **metadata), forest, configuration)["metadata"]["labels"]
        return found

    assert labels(NEWER) == {QUEUE: "default", CLASS: "default"}
    assert labels(NEWER, labels={QUEUE: "a"}) == {QUEUE: "a", CLASS: "default"}
    assert labels(NEWER, labels=other) == other
    assert labels(NEWER, forest=DEFAULT) == {QUEUE: "default"}, "there is no such class"
    usual = Configuration(kueue=KueueSettings(manage_jobs=True, manage_pods=True))
    assert labels(usual) == {QUEUE: "default"}, "0.19"


def test_a_job_without_a_queue_gets_the_default_class_unless_a_job_owns_it() -> None:
    """It may be queued later. A Deployment gets the class when it is queued."""
    forest = Forest().put_all([typed(USUAL)])
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "u", "controller": True}

    done = completed(job(), forest, NEWER)
    assert (done["metadata"]["labels"], done["spec"]) == ({CLASS: "default"}, {})
    assert patch(job(labels={CLASS: "high"}), forest, NEWER) == []
    assert completed(job(ownerReferences=[cron]), forest, NEWER)["metadata"]["labels"] == {CLASS: "default"}
    assert patch(job(ownerReferences=[SET]), forest, NEWER) == [], "no cache has the owner"
    assert patch(job("Deployment", "apps/v1"), forest, NEWER) == []


@pytest.mark.parametrize("labels", [{}, {QUEUE: "a"}])
def test_ray_job_in_an_existing_cluster_is_not_suspended_but_its_submitter_job_is(labels: dict[str, str]) -> None:
    """KubeRay fails such a job if it is suspended."""
    spec = {"submissionMode": "K8sJobMode", "clusterSelector": {"ray.io/cluster": "big"}}
    ray = manifest("ray.io/v1", "RayJob", "ray", spec, namespace="ns", uid="u", labels=labels)
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "ray", "uid": "u", "controller": True}
    here = world(local_queue("default", "ml"), ray)

    assert patch(ray, here, MANAGED) == []
    submitter = job(spec={"template": {"spec": {"containers": []}}}, ownerReferences=[owner])
    assert completed(submitter, here)["spec"]["suspend"] is True
    everything = Configuration(kueue=KueueSettings(manage_jobs=True, without_queue=True))
    assert completed(submitter, world(ray), everything)["spec"]["suspend"] is True


def test_nothing_is_suspended_unless_jobs_are_managed() -> None:
    assert patch(job(labels={QUEUE: "a"}), DEFAULT, Configuration()) == []


def test_finalizer_is_added_only_if_a_controller_removes_it() -> None:
    queue = cluster_queue("ml")

    assert patch(queue, Forest(), Configuration()) == []
    for configuration in (MANAGED, Configuration(profile=Profile.COMPAT)):
        assert completed(queue, Forest(), configuration)["metadata"]["finalizers"] == [IN_USE]


def test_other_finalizers_stay() -> None:
    queue = cluster_queue("ml")
    queue["metadata"]["finalizers"] = ["example.com/mine"]

    assert completed(queue, Forest())["metadata"]["finalizers"] == ["example.com/mine", IN_USE]


def test_min_counts_are_removed_without_partial_admission() -> None:
    workload = job("Workload", "kueue.x-k8s.io/v1beta2", spec={"podSets": [{"count": 3, "minCount": 1}, {"count": 1}]})
    without = Configuration(kueue=KueueSettings(feature_gates={"PartialAdmission": False}))

    assert patch(workload, Forest(), Configuration()) == []
    assert completed(workload, Forest(), without)["spec"]["podSets"] == [{"count": 3}, {"count": 1}]


CHECK: dict[str, Any] = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "AdmissionCheck",
    "metadata": {"name": "abroad"},
}


def checked(controller: str) -> Forest:
    """A default queue whose work is checked by this controller."""
    queue = cluster_queue("ml")
    queue["spec"]["admissionChecksStrategy"] = {"admissionChecks": [{"name": "abroad"}]}
    return world(local_queue("default", "ml"), queue, {**CHECK, "spec": {"controllerName": controller}})


FAR = checked("kueue.x-k8s.io/multikueue")


def test_job_in_a_multikueue_queue_is_managed_by_multikueue() -> None:
    near, far = (completed(job(labels={QUEUE: "default"}), forest)["spec"] for forest in (DEFAULT, FAR))

    assert near == {"suspend": True}
    assert far == {"suspend": True, "managedBy": "kueue.x-k8s.io/multikueue"}
    assert completed(job(), FAR)["spec"] == far
    assert completed(job(), checked("example.com/budget"))["spec"] == near


def test_managed_by_of_a_kubeflow_job_is_in_run_policy() -> None:
    spec = completed(job("TFJob", "kubeflow.org/v1"), FAR)["spec"]

    assert spec == {"runPolicy": {"suspend": True, "managedBy": "kueue.x-k8s.io/multikueue"}}


def test_suspended_job_in_a_multikueue_queue_is_managed_by_multikueue() -> None:
    spec = completed(job(labels={QUEUE: "default"}, spec={"suspend": True}), FAR)["spec"]

    assert spec == {"suspend": True, "managedBy": "kueue.x-k8s.io/multikueue"}


def test_job_is_not_managed_by_multikueue_if_its_gate_is_disabled() -> None:
    off = Configuration(kueue=KueueSettings(manage_jobs=True, feature_gates={"MultiKueue": False}))

    assert completed(job(labels={QUEUE: "default"}), FAR, off)["spec"] == {"suspend": True}


@pytest.mark.parametrize(
    ("kind", "version", "at", "own"),
    [
        ("Job", "batch/v1", (), "kubernetes.io/job-controller"),
        ("JobSet", "jobset.x-k8s.io/v1alpha2", (), "jobset.sigs.k8s.io/jobset-controller"),
        ("MPIJob", "kubeflow.org/v2beta1", ("runPolicy",), "kubeflow.org/mpi-operator"),
        ("PyTorchJob", "kubeflow.org/v1", ("runPolicy",), "kubeflow.org/training-operator"),
        ("TrainJob", "trainer.kubeflow.org/v1alpha1", (), "trainer.kubeflow.org/trainjob-controller"),
        ("RayJob", "ray.io/v1", (), "ray.io/kuberay-operator"),
        ("RayCluster", "ray.io/v1", (), "ray.io/kuberay-operator"),
        ("RayService", "ray.io/v1", (), "ray.io/kuberay-operator"),
        ("AppWrapper", "workload.codeflare.dev/v1beta2", (), "workload.codeflare.dev/appwrapper-controller"),
    ],
)
def test_only_the_default_controller_of_a_kind_is_replaced_by_multikueue(
    kind: str, version: str, at: tuple[str, ...], own: str
) -> None:
    def then(named: str) -> str:
        spec: dict[str, Any] = {"managedBy": named}
        for step in at:
            spec = {step: spec}
        found = completed(job(kind, version, labels={QUEUE: "default"}, spec=spec), FAR)["spec"]
        for step in at:
            found = found[step]
        return str(found["managedBy"])

    assert then(own) == "kueue.x-k8s.io/multikueue"
    others = {"kubernetes.io/job-controller", "ray.io/kuberay-operator", "example.com/mine"} - {own}
    assert {then(other) for other in others} == others


@pytest.mark.parametrize(
    ("named", "then"),
    [("kubernetes.io/job-controller", "kueue.x-k8s.io/multikueue"), ("example.com/mine", "example.com/mine")],
)
def test_custom_managed_by_is_kept(named: str, then: str) -> None:
    assert completed(job(spec={"managedBy": named}), FAR)["spec"]["managedBy"] == then


def test_kinds_without_multikueue_support_get_no_managed_by() -> None:
    assert completed(job("SparkApplication", "sparkoperator.k8s.io/v1beta2"), FAR)["spec"] == {"suspend": True}
    assert completed(job("Deployment", "apps/v1"), FAR)["spec"] == {}
