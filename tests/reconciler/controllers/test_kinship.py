"""Child jobs: which jobs are children, which stop with their parent, and which are only reported."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest

from policies.amounts.requests import total
from policies.dialects.core import POD
from policies.model.objects import GroupKind
from reconciler.controllers.jobs import owners
from reconciler.controllers.jobs.controller import JobsController
from reconciler.controllers.jobs.owners import PATIENCE
from reconciler.core.commands import ReadObject
from reconciler.jobs.batch_job import BATCH
from reconciler.jobs.described import JobKind
from reconciler.jobs.kinds import SHIPPED
from reconciler.objects.bypasses import Bypasses
from reconciler.objects.observed import Observed
from reconciler.objects.packed import Packed
from scheduling.objects.reading import read_workload
from tests import builders
from tests.reconciler.driver import Driver
from tests.reconciler.jobs.world import NOW, K

JOB_SET, RAY_SERVICE, RAY_CLUSTER, RAY_JOB, MPI_JOB = (
    SHIPPED[GroupKind(group, kind)]
    for group, kind in (
        ("jobset.x-k8s.io", "JobSet"),
        ("ray.io", "RayService"),
        ("ray.io", "RayCluster"),
        ("ray.io", "RayJob"),
        ("kubeflow.org", "MPIJob"),
    )
)
WRAPPER = JobKind(
    replace(BATCH.shape, kind=GroupKind("example.dev", "Wrapper"), plural="wrappers", makes=None, elastic=False)
)
"""A kind that a user describes: nobody knows what it makes."""
LABELS = {f"{K}queue-name": "q"}


class Stage:
    """JobSets, Jobs and Ray clusters, with the Workloads that the controller made of them."""

    def __init__(self) -> None:
        self.stored: dict[str, Observed] = {}
        self.bypasses = Bypasses()
        kinds = (BATCH, JOB_SET, RAY_SERVICE, RAY_CLUSTER, RAY_JOB, MPI_JOB, WRAPPER)
        self.controller = JobsController(self.stored.get, kinds, (POD,), bypasses=self.bypasses)
        self.driver = Driver(self.controller)
        self.now = NOW

    def show(self, kind: Any, manifest: dict[str, Any], gone: bool = False) -> None:
        meta = {"uid": manifest["metadata"]["name"], "resourceVersion": "1", **manifest["metadata"]}
        whole = {**manifest, "metadata": meta}
        self.controller.observe(Observed((kind.name, f"ns/{meta['name']}"), "1", None if gone else Packed.of(whole)))

    def owner(self, manifest: dict[str, Any]) -> None:
        """The owner was read from the API server."""
        whole = Packed.of({**manifest, "metadata": {"uid": manifest["metadata"]["name"], **manifest["metadata"]}})
        self.controller.found(Observed((JOB_SET.name, f"ns/{manifest['metadata']['name']}"), "1", whole))

    def due(self) -> list[tuple[str, str]]:
        """The Events: the name of the object and the reason."""
        return [(write.about.name, write.reason) for write in self.driver.due(self.now) if write.about]

    def admitted(self, kind: Any, manifest: dict[str, Any]) -> None:
        """It runs with a Workload that is admitted."""
        self.show(kind, {**manifest, "spec": {**manifest["spec"], "suspend": True}})
        (made,) = self.driver.due(self.now)
        body = {**made.action.body, "metadata": {**made.action.body["metadata"], "resourceVersion": "1", "uid": "w"}}
        self.workload = f"ns/{body['metadata']['name']}"
        self.body = body
        self.admit(True)
        self.show(kind, manifest)
        assert self.due() == []

    def admit(self, admitted: bool) -> None:
        sets = [{"name": each["name"], "flavors": {}} for each in self.body["spec"]["podSets"]]
        status = {
            "admission": {"clusterQueue": "cq", "podSetAssignments": sets},
            "conditions": [
                *({"type": kind, "status": "True", "reason": "r"} for kind in ("QuotaReserved", "Admitted")),
                {"type": "PodsReady", "status": "False", "reason": "WaitForStart"},
            ],
        }
        whole = {**self.body, "status": status if admitted else {}}
        self.stored[self.workload] = Observed(("Workload", self.workload), "1", read_workload(whole), Packed.of(whole))
        self.controller.workload_changed(self.workload)


def job_set(cpu: str = "1") -> dict[str, Any]:
    jobs = [{"name": "a", "replicas": 1, "template": {"spec": {"template": started(cpu)}}}]
    spec = {"suspend": False, "replicatedJobs": jobs}
    return builders.manifest("jobset.x-k8s.io/v1alpha2", "JobSet", "set", spec, namespace="ns", labels=LABELS)


def started(cpu: str) -> dict[str, Any]:
    return {**builders.template(cpu), "metadata": {"labels": {f"{K}podset": "a"}}}


def child(name: str = "child", cpu: str = "1", owner: str = "set", *, suspend: bool = False) -> dict[str, Any]:
    kind = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
    reference = {**kind, "name": "set", "uid": owner, "controller": True}
    spec = {"suspend": suspend, "template": builders.template(cpu)}
    return builders.batch_job(name, spec, labels=LABELS, ownerReferences=[reference], creationTimestamp=name)


def test_the_child_of_an_admitted_job_runs_and_is_suspended_with_it() -> None:
    stage = Stage()
    stage.admitted(JOB_SET, job_set())

    stage.show(BATCH, child())
    assert stage.due() == []
    stage.admit(False)
    assert ("child", "Suspended") in stage.due()


def test_the_child_of_a_pending_job_is_suspended_and_counted_as_a_bypass() -> None:
    stage = Stage()
    waiting = job_set()
    stage.show(JOB_SET, {**waiting, "spec": {**waiting["spec"], "suspend": True}})
    stage.show(BATCH, child())
    assert stage.due() == [("set", "CreatedWorkload"), ("child", "Suspended")]

    stage.show(BATCH, child(suspend=True))
    stage.now += 10**9
    stage.due()
    (undone,) = stage.bypasses.undone.values()
    assert (undone.count, undone.nanoseconds) == (1, 10**9)


def test_a_child_of_an_owner_with_another_uid_is_queued_on_its_own() -> None:
    stage = Stage()
    stage.admitted(JOB_SET, job_set())

    stage.show(BATCH, child(owner="forged"))
    assert stage.due() == []
    stage.now += PATIENCE
    assert stage.due() == [("child", "Suspended")]
    stage.show(BATCH, child(owner="forged", suspend=True))
    assert stage.due() == []
    stage.owner(job_set())
    assert stage.due() == [("child", "CreatedWorkload")]


def test_a_child_of_an_owner_without_a_queue_is_queued_on_its_own() -> None:
    """The watch does not show such an owner."""
    stage = Stage()
    stage.show(BATCH, child(suspend=True))
    stage.due()
    stage.now += PATIENCE
    assert stage.due() == []

    stage.owner({**job_set(), "metadata": {"name": "set", "namespace": "ns", "uid": "set"}})
    assert stage.due() == [("child", "CreatedWorkload")]
    for _ in range(3):
        stage.show(BATCH, child(suspend=True))
        stage.due()
    assert len(stage.driver.asked) == 1


@pytest.mark.parametrize("suspend", [True, False])
def test_a_child_of_a_missing_owner_is_suspended_and_not_queued(suspend: bool) -> None:
    stage = Stage()
    stage.show(BATCH, child(suspend=suspend))
    stage.due()
    stage.now += PATIENCE
    stopped = [] if suspend else [("child", "Suspended")]
    assert stage.due() == stopped
    assert stage.driver.asked == [ReadObject((JOB_SET.name, "ns/set"))]

    stage.show(BATCH, child(suspend=True))
    stage.controller.gone((JOB_SET.name, "ns/set"))
    (event,) = stage.driver.due(stage.now)
    assert (event.action, event.reason, event.message) == (
        None,
        "OwnerNotFound",
        "workload owner not found: JobSet set",
    )

    stage.admitted(JOB_SET, job_set())
    assert stage.due() == []


def test_the_owner_of_many_children_is_read_once() -> None:
    stage = Stage()
    for number in range(200):
        stage.show(BATCH, child(f"c{number}", suspend=True))
    stage.due()
    stage.now += PATIENCE
    stage.due()
    stage.controller.gone((JOB_SET.name, "ns/set"))
    assert {reason for _, reason in stage.due()} == {"OwnerNotFound"}

    assert len(stage.driver.asked) == 1


def test_a_child_without_its_owner_and_the_reference_is_queued_on_its_own() -> None:
    """As after a deletion with the policy Orphan."""
    stage = Stage()
    stage.show(BATCH, child(suspend=True))
    stage.due()
    stage.now += PATIENCE
    stage.due()
    stage.controller.gone((JOB_SET.name, "ns/set"))
    stage.due()

    left = child(suspend=True)
    left["metadata"]["ownerReferences"] = []
    stage.show(BATCH, left)
    assert stage.due() == [("child", "CreatedWorkload")]


def test_a_child_that_is_shown_before_its_owner_is_not_queued_on_its_own() -> None:
    stage = Stage()
    stage.show(BATCH, child(suspend=True))
    assert stage.due() == []

    stage.admitted(JOB_SET, job_set())
    stage.now += PATIENCE
    assert stage.due() == []


@pytest.mark.parametrize("cpu", ["1500m", "50"])
def test_a_child_that_requests_more_than_its_owner_is_queued_on_its_own(cpu: str) -> None:
    stage = Stage()
    stage.admitted(JOB_SET, job_set())

    stage.show(BATCH, child(cpu=cpu))

    assert stage.due() == [("child", "Stopped")]


def test_children_that_together_request_more_are_stopped_except_the_oldest() -> None:
    stage = Stage()
    stage.admitted(JOB_SET, job_set("2"))

    for name in ("c", "a", "b", "d"):
        stage.show(BATCH, child(name))
    for name in ("a", "b", "c", "d"):
        stage.show(BATCH, child(name))

    assert stage.due() == [("c", "Stopped"), ("d", "Stopped")]


def wrapper(name: str, cpu: str = "1", above: str = "") -> dict[str, Any]:
    owner = {"apiVersion": "example.dev/v1", "kind": "Wrapper", "name": above, "uid": above, "controller": True}
    return {
        **child(name, cpu),
        "apiVersion": "example.dev/v1",
        "kind": "Wrapper",
        "metadata": {**child(name)["metadata"], "ownerReferences": [owner] if above else []},
    }


def test_grandchildren_count_against_the_top_owner() -> None:
    stage = Stage()
    stage.admitted(WRAPPER, wrapper("top", "2"))

    stage.show(WRAPPER, wrapper("x", "2", above="a"))
    stage.show(WRAPPER, wrapper("a", above="top"))
    stage.show(WRAPPER, wrapper("b", above="top"))

    assert stage.due() == [("b", "Stopped")]


def test_a_child_of_a_job_that_makes_only_pods_is_queued_on_its_own() -> None:
    stage = Stage()
    stage.admitted(JOB_SET, job_set())
    stage.show(BATCH, child("a"))
    assert stage.due() == []

    below = child("x")
    below["metadata"]["ownerReferences"] = [
        {"apiVersion": "batch/v1", "kind": "Job", "name": "a", "uid": "a", "controller": True}
    ]
    stage.show(BATCH, below)

    assert stage.due() == [("x", "Stopped")]


def test_children_cannot_use_the_quota_of_pods_that_their_owner_makes() -> None:
    """The launcher of an MPIJob is a Job, its workers are Pods."""
    launcher, workers = ({"replicas": count, "template": started("1")} for count in (1, 3))
    spec = {"runPolicy": {"suspend": True}, "mpiReplicaSpecs": {"Launcher": launcher, "Worker": workers}}
    stage = Stage()
    stage.show(MPI_JOB, builders.manifest("kubeflow.org/v2beta1", "MPIJob", "mpi", spec, namespace="ns", labels=LABELS))
    above = {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "name": "mpi", "uid": "mpi", "controller": True}

    for name, cpu in (("a", "1"), ("b", "3")):
        job = child(name, cpu)
        job["metadata"]["ownerReferences"] = [above]
        stage.show(BATCH, job)

    assert [each for each in stage.due() if each[0] in "ab"] == [("a", "Suspended"), ("b", "Stopped")]


def test_jobs_that_own_each_other_are_queued_on_their_own() -> None:
    stage = Stage()
    for name, other in (("a", "b"), ("b", "a")):
        stage.show(WRAPPER, wrapper(name, above=other))

    assert stage.due() == [("a", "Stopped"), ("b", "Stopped")]


@pytest.mark.parametrize(("depth", "reported"), [(10, False), (11, True)])
def test_a_job_with_more_than_ten_ancestors_is_reported(depth: int, reported: bool) -> None:
    stage = Stage()
    for level in range(depth + 1):
        job = wrapper(f"j{level}", above=f"j{level - 1}" if level else "")
        stage.show(WRAPPER, {**job, "spec": {**job["spec"], "suspend": True}})

    warnings = [write for write in stage.driver.due(stage.now) if write.reason == "JobNestingTooDeep"]

    assert [write.about.name for write in warnings if write.about] == ([f"j{depth}"] if reported else [])
    assert {write.message for write in warnings} <= {
        "Terminated search for Kueue-managed Job because ancestor depth exceeded limit of 10"
    }


def test_an_upgrade_of_a_ray_service_has_two_clusters_for_a_while() -> None:
    stage = Stage()
    cluster = {"headGroupSpec": {"template": started("1")}}
    meta = {"namespace": "ns", "labels": LABELS}
    service = builders.manifest("ray.io/v1", "RayService", "s", {"rayClusterConfig": cluster}, **meta)
    stage.show(RAY_SERVICE, {**service, "spec": {"rayClusterConfig": {**cluster, "suspend": True}}})
    (made,) = stage.driver.due(stage.now)
    stage.body = {**made.action.body, "metadata": {**made.action.body["metadata"], "resourceVersion": "1"}}
    stage.workload = f"ns/{stage.body['metadata']['name']}"
    stage.admit(True)
    stage.show(RAY_SERVICE, service)
    owner = {"apiVersion": "ray.io/v1", "kind": "RayService", "name": "s", "uid": "s", "controller": True}

    for name in ("one", "two"):
        each = builders.manifest("ray.io/v1", "RayCluster", name, cluster, **meta, ownerReferences=[owner])
        stage.show(RAY_CLUSTER, each)

    assert stage.due() == []


def test_a_ray_job_in_an_existing_cluster_is_not_queued_so_the_job_that_submits_it_runs() -> None:
    stage = Stage()
    spec = {"submissionMode": "K8sJobMode", "clusterSelector": {"ray.io/cluster": "big"}}
    stage.show(RAY_JOB, builders.manifest("ray.io/v1", "RayJob", "r", spec, namespace="ns", labels=LABELS))
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "r", "uid": "r", "controller": True}
    body = {"suspend": False, "template": builders.template("500m")}

    stage.show(BATCH, builders.batch_job("submitter", body, ownerReferences=[owner]))
    assert stage.due() == []


def test_the_older_of_two_grandchildren_that_do_not_fit_together_runs() -> None:
    stage = Stage()
    stage.admitted(WRAPPER, wrapper("top"))
    stage.show(WRAPPER, wrapper("mid", above="top"))
    for name in ("a", "b"):
        stage.show(WRAPPER, wrapper(name, above="mid"))

    assert stage.due() == [("b", "Stopped")]


def test_the_cost_of_children_grows_linearly(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Mock(wraps=total)
    monkeypatch.setattr(owners, "total", counted)
    stage, efforts = Stage(), {}
    stage.admitted(JOB_SET, job_set())
    for number in range(100):
        stage.show(BATCH, child(f"child-{number:03}"))
        if number + 1 in (50, 100):
            counted.reset_mock()
            stage.admit(True)
            stage.due()
            efforts[number + 1] = counted.call_count

    assert efforts[50]
    assert efforts[100] < 3 * efforts[50]
