"""The field managers of a Workload's status on a real API server: Kueue and the reconciler write it in turn.

Kueue applies the whole status, with force and the resource version that it read. A field that it leaves out is removed
only if no other manager owns it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from cluster.actions import Action
from cluster.apply import perform
from cluster.client import MERGE_PATCH, ClusterClient
from cluster.endpoint import from_kubeconfig
from cluster.errors import Conflict, NotFound
from reconciler.objects.patches import (
    ADMISSION_MANAGER,
    RECLAIMABLE_MANAGER,
    WORKLOADS,
    condition_manager,
    status_patch,
)
from scheduling.objects.reading import read_workload
from scheduling.objects.times import SECOND, rfc3339
from scheduling.objects.workload import (
    PODS_READY,
    WAITING_FOR_REPLACEMENT,
    Admission,
    CheckState,
    PodSetAdmission,
    Workload,
)
from scheduling.status.conditions import with_condition
from scheduling.status.deadlines import pods_ready, release
from scheduling.status.eviction import preempt
from scheduling.status.progress import finish, with_reclaimable
from scheduling.status.requeue import requeue_at
from scheduling.status.reservation import reserve, sync_admitted
from scheduling.status.writing import written_status
from tests.apiserver.harness import ControlPlane
from tests.apiserver.kueue_world import KUEUE, following, install, queue, workload
from tests.apiserver.multikueue.kueue_played import OF_ADMISSION
from tests.builders import kueue
from tests.waiting import eventually

Status = dict[str, Any]
Decision = Callable[[Workload], Workload]


def now() -> int:
    return time.time_ns() // SECOND * SECOND


def admit(flavor: str) -> Decision:
    admission = Admission("ssa", (PodSetAdmission("main", {"cpu": flavor}, {"cpu": 1000}, 1),))
    return lambda read: sync_admitted(reserve(read, admission, now()), now())


def evict(read: Workload) -> Workload:
    return preempt(read, "InClusterQueue", "Preempted to make room", now())


def let_go(read: Workload) -> Workload:
    return release(read, now())


class Stage:
    """One Workload with three writers: the reconciler, Kueue, and an earlier release that sent merge patches."""

    def __init__(self, cluster: ClusterClient, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.item = WORKLOADS.item("w", namespace)
        self.writes = 0
        cluster.create(WORKLOADS.collection(namespace), workload("w", "1", queue_name="ssa"))

    @property
    def stored(self) -> dict[str, Any]:
        return self.cluster.get(self.item)

    @property
    def status(self) -> Status:
        found: Status = self.stored.get("status", {})
        return found

    def says(self, kind: str) -> str:
        return next((each["status"] for each in self.status.get("conditions", ()) if each["type"] == kind), "")

    def read(self) -> Workload:
        return read_workload(self.stored)

    def ours(self, decision: Decision, manager: str = ADMISSION_MANAGER) -> None:
        """Write as the reconciler does, until the Workload is as decided."""
        after = decision(self.read())
        for _ in range(4):
            action: Action | None = status_patch(self.read(), after, manager)
            if action is None:
                return
            version = self.stored["metadata"]["resourceVersion"]
            perform(self.cluster, action)
            self.writes += 1
            assert self.stored["metadata"]["resourceVersion"] != version, "a write without effect is a loop"
        raise AssertionError(f"it is written again and again: {self.status}")

    def kueues(self, decision: Decision) -> None:
        """Apply the whole status of the admission, as Kueue does."""
        status = written_status(decision(self.read()))
        own = {key: value for key, value in status.items() if key != "reclaimablePods"}
        own["conditions"] = [each for each in status["conditions"] if each["type"] in OF_ADMISSION]
        self.apply(ADMISSION_MANAGER, own)

    def apply(self, manager: str, status: Status) -> None:
        meta = self.stored["metadata"]
        bound = {key: meta[key] for key in ("name", "namespace", "uid", "resourceVersion")}
        body = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": bound, "status": status}
        self.cluster.apply(f"{self.item}/status", body, manager, force=True)

    def earlier(self, decision: Decision) -> None:
        """A merge patch with the manager's name, which the API server stores as operation Update."""
        status = written_status(decision(self.read()))
        self.cluster.patch(f"{self.item}/status", {"status": status}, MERGE_PATCH, field_manager=ADMISSION_MANAGER)

    def owners(self, part: str = "") -> dict[tuple[str, str], Any]:
        """The status fields of each manager and operation, or only of those that own this field."""
        entries = [each for each in self.stored["metadata"]["managedFields"] if each.get("subresource") == "status"]
        found = {(each["manager"], each["operation"]): each["fieldsV1"]["f:status"] for each in entries}
        return {key: value for key, value in found.items() if not part or f"f:{part}" in value}


@pytest.fixture
def cluster(control_plane: ControlPlane) -> Iterator[ClusterClient]:
    install(control_plane)
    with ClusterClient(from_kubeconfig(None, str(control_plane.kubeconfig))) as cluster:
        yield cluster


@pytest.fixture
def stage(cluster: ClusterClient, namespace: str) -> Stage:
    return Stage(cluster, namespace)


def test_the_reconciler_removes_fields_that_kueue_applied(stage: Stage) -> None:
    stage.kueues(lambda read: requeue_at(admit("old")(read), now(), counted=True))
    stage.kueues(evict)

    stage.ours(lambda read: replace(let_go(read), requeue=None))

    assert "admission" not in stage.status
    assert "requeueState" not in stage.status
    assert set(stage.owners()) == {(ADMISSION_MANAGER, "Apply")}
    assert stage.writes == 1


def test_kueue_removes_fields_that_the_reconciler_applied(stage: Stage) -> None:
    stage.ours(lambda read: requeue_at(admit("old")(read), now(), counted=True))
    stage.ours(evict)
    assert stage.writes == 2

    stage.kueues(lambda read: replace(let_go(read), requeue=None))

    assert "admission" not in stage.status
    assert "requeueState" not in stage.status
    assert set(stage.owners()) == {(ADMISSION_MANAGER, "Apply")}


def rich(read: Workload) -> Workload:
    """Set every field that the manager of admissions owns."""
    after = replace(
        requeue_at(evict(admit("old")(read)), now(), counted=True),
        checks=(CheckState("c", "Pending", "wait", now()),),
        past_seconds=7,
        cluster="far",
        unhealthy_nodes=("n",),
    )
    return pods_ready(after, True, now())


def test_the_reconciler_owns_the_same_fields_as_kueue(stage: Stage, cluster: ClusterClient) -> None:
    stage.kueues(rich)
    kueues = stage.owners()
    cluster.delete(stage.item)
    again = Stage(cluster, stage.namespace)

    again.ours(rich)

    assert again.owners() == kueues
    assert again.writes == 1


@pytest.mark.parametrize(
    ("manager", "decision", "owner", "status"),
    [
        (condition_manager(PODS_READY), lambda read: pods_ready(read, True, now()), "", ("conditions", PODS_READY)),
        (RECLAIMABLE_MANAGER, lambda read: with_reclaimable(read, {"main": 1}), "", ("reclaimablePods", "")),
        (
            condition_manager(WAITING_FOR_REPLACEMENT),
            lambda read: with_condition(read, WAITING_FOR_REPLACEMENT, "True", "PodsFailed", "", now()),
            "kueue-pod-controller",
            ("conditions", WAITING_FOR_REPLACEMENT),
        ),
    ],
)
def test_a_status_report_of_a_job_is_owned_by_its_own_field_manager(
    stage: Stage, manager: str, decision: Decision, owner: str, status: tuple[str, str]
) -> None:
    stage.kueues(admit("old"))

    stage.ours(decision, manager)
    stage.ours(evict)
    stage.ours(let_go)

    field, kind = status
    owned = stage.owners()[owner or manager, "Apply"]
    assert set(owned) == {f"f:{field}"}
    if kind:
        assert [key for key in owned[f"f:{field}"] if key != "."] == [f'k:{{"type":"{kind}"}}']
    assert stage.status[field]
    assert "admission" not in stage.status


def test_a_condition_with_its_own_field_manager_survives_an_apply_by_kueue(stage: Stage) -> None:
    """Kueue would remove other fields that the manager of admissions owns."""
    stage.kueues(admit("old"))
    stage.kueues(evict)
    waits = ("True", "Preempted", "Preempted to make room")

    stage.ours(lambda read: with_condition(let_go(read), WAITING_FOR_REPLACEMENT, *waits, now()))
    stage.kueues(lambda read: finish(read, "Succeeded", "done", now()))

    assert stage.says(WAITING_FOR_REPLACEMENT) == "True"
    assert stage.writes == 2
    assert set(stage.owners()) == {(ADMISSION_MANAGER, "Apply"), ("kueue-pod-controller", "Apply")}


def test_fields_of_an_earlier_release_are_removed_and_taken_over(stage: Stage) -> None:
    stage.earlier(lambda read: requeue_at(admit("old")(read), now(), counted=True))
    assert set(stage.owners("admission")) == {(ADMISSION_MANAGER, "Update")}

    stage.ours(evict)
    stage.ours(lambda read: replace(let_go(read), requeue=None))

    assert "admission" not in stage.status
    assert "requeueState" not in stage.status
    assert set(stage.owners()) == {(ADMISSION_MANAGER, "Apply")}
    assert stage.writes == 2


def test_kueue_removes_fields_of_an_earlier_release_that_the_reconciler_took_over(stage: Stage) -> None:
    stage.earlier(admit("old"))
    stage.ours(evict)

    stage.kueues(let_go)

    assert "admission" not in stage.status


def test_the_reconciler_and_kueue_alternate_with_one_write_per_decision(stage: Stage) -> None:
    turns = (admit("old"), evict, let_go)
    versions = []
    for number in range(9):
        write = stage.ours if number % 2 else stage.kueues
        write(turns[number % 3])
        versions.append(stage.stored["metadata"]["resourceVersion"])
        assert ("admission" in stage.status) == (number % 3 != 2)

    assert stage.writes == 4
    assert len(set(versions)) == 9
    assert set(stage.owners()) == {(ADMISSION_MANAGER, "Apply")}


def test_a_check_that_another_manager_owns_is_removed_without_taking_it_over(stage: Stage) -> None:
    stage.kueues(lambda read: replace(admit("old")(read), checks=(CheckState("c", "Pending", "", now()),)))
    stage.apply("kueue.x-k8s.io/provisioning-request", {"admissionChecks": stage.status["admissionChecks"]})

    stage.ours(lambda read: replace(read, checks=()))

    assert "admissionChecks" not in stage.status
    assert set(stage.owners()) == {(ADMISSION_MANAGER, "Apply")}


def test_a_check_whose_name_another_manager_owns_is_removed(stage: Stage) -> None:
    """As after an eviction, which resets the check that its controller applied."""
    stage.kueues(lambda read: replace(admit("old")(read), checks=(CheckState("c", "Pending", "", now()),)))
    said = [{"name": "c", "state": "Rejected", "message": "no stock", "lastTransitionTime": rfc3339(now())}]
    stage.apply("the-check", {"admissionChecks": said})
    stage.ours(lambda read: let_go(evict(read)))
    assert stage.status["admissionChecks"][0]["state"] == "Pending"

    stage.ours(lambda read: replace(read, checks=()))

    assert "admissionChecks" not in stage.status
    assert set(stage.owners()) == {(ADMISSION_MANAGER, "Apply")}


def test_a_leftover_admission_is_cleared_before_a_new_one_is_written(stage: Stage) -> None:
    stage.earlier(admit("old"))
    stage.kueues(evict)
    stage.kueues(let_go)
    assert stage.status["admission"], "the merge patch of the earlier release still owns it"
    assert stage.says("QuotaReserved") == "False"

    stage.ours(admit("new"))

    (assigned,) = stage.status["admission"]["podSetAssignments"]
    assert assigned["flavors"] == {"cpu": "new"}
    assert set(stage.owners("admission")) == {(ADMISSION_MANAGER, "Apply")}
    assert stage.writes == 2


def test_a_write_with_an_old_resource_version_is_a_conflict(stage: Stage, cluster: ClusterClient) -> None:
    read = stage.read()
    late = status_patch(read, admit("late")(read), ADMISSION_MANAGER)
    assert late is not None
    stage.kueues(admit("first"))

    with pytest.raises(Conflict):
        perform(cluster, late)
    cluster.delete(stage.item)
    with pytest.raises((Conflict, NotFound)):
        perform(cluster, late)
    with pytest.raises(NotFound):
        cluster.get(stage.item)


@pytest.fixture
def team(cluster: ClusterClient, namespace: str) -> Iterator[None]:
    made: Mapping[str, dict[str, Any]] = {
        "resourceflavors/plain": kueue("ResourceFlavor", "plain", {}),
        "cohorts/ssa": kueue("Cohort", "ssa", {}),
        "clusterqueues/ssa": kueue("ClusterQueue", "ssa", queue("ssa", "2")),
    }
    for path, manifest in made.items():
        cluster.create(f"{KUEUE}/{path.partition('/')[0]}", manifest)
    cluster.create(f"{KUEUE}/namespaces/{namespace}/localqueues", kueue("LocalQueue", "ssa", {"clusterQueue": "ssa"}))
    yield
    for path in reversed(made):
        cluster.patch(f"{KUEUE}/{path}", {"metadata": {"finalizers": None}}, MERGE_PATCH)
        cluster.delete(f"{KUEUE}/{path}")


@pytest.mark.usefixtures("team")
def test_the_reconciler_takes_over_a_leftover_admission_in_three_writes(
    stage: Stage, control_plane: ControlPlane, cluster: ClusterClient
) -> None:
    stage.earlier(admit("old"))
    stage.kueues(evict)
    stage.kueues(let_go)
    since = stage.stored["metadata"]["resourceVersion"]

    def admitted() -> int:
        found = cluster.get(f"{KUEUE}/clusterqueues/ssa").get("status", {})
        return int(found.get("admittedWorkloads", 0))

    with following(control_plane):
        eventually(lambda: admitted() == 1, lambda: str(stage.status))
        cluster.create(WORKLOADS.collection(stage.namespace), workload("next", "1", queue_name="ssa"))
        eventually(lambda: admitted() == 2)
        eventually(lambda: set(stage.owners("admission")) == {(ADMISSION_MANAGER, "Apply")})
    assert stage.status["admission"]["podSetAssignments"][0]["flavors"] == {"cpu": "plain"}
    with cluster.watch(WORKLOADS, since, namespace=stage.namespace, seconds=1) as events:
        writes = [each for each in events if each.manifest["metadata"].get("name") == "w"]
    assert len(writes) == 3, "cleared; applied; the ownership of the merge patches ended"
    stage.kueues(evict)
    stage.kueues(let_go)
    assert "admission" not in stage.status
