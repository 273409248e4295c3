"""Reasons for waiting are written when there is nothing better to write."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cluster.actions import Action
from policies.dialects.kueue_workload import GATED_BY
from reconciler.objects.observed import Key, Observed
from reconciler.objects.outcomes import Outcome
from scheduling.objects.requests import Counting
from scheduling.objects.times import SECOND
from scheduling.status.observability import LEGACY, Observability
from tests import builders
from tests.reconciler.checked import jobs
from tests.reconciler.core.storm import Storm, reported
from tests.reconciler.plain_queues import cluster_queue, cpus, workload
from tests.reconciler.prompt import Manifest, Prompt, job
from tests.reconciler.recount import holds
from tests.scheduling.cluster import GRANULAR

STRICT = {**cluster_queue("q0", "", 3)["spec"], "queueingStrategy": "StrictFIFO"}
STOPPED = {"clusterQueue": "q0", "stopPolicy": "Hold"}


def crowd(storm: Storm, count: int) -> None:
    for number in range(count):
        storm.api.put(("Workload", f"ns/w{number}"), workload(f"w{number}", number, "q0", 30 + number, 0))
    storm.api.relist("Workload")


def settle(storm: Storm) -> None:
    while storm.api.arriving or storm.api.answers:
        storm.arrive_all()
        while storm.api.answers:
            storm.api.answer()
        storm.loop.round(0)


def test_reasons_of_many_pending_workloads_are_written_in_batches() -> None:
    storm = Storm(0, faults=0.0)
    crowd(storm, 100)
    storm.loop.round(0)
    assert 0 < len(storm.api.arriving) < 100

    settle(storm)
    assert all(reported(storm.api.objects["Workload", f"ns/w{number}"]) for number in range(100))


def test_a_workload_admitted_before_its_reason_was_written_is_written_once() -> None:
    storm = Storm(0, faults=0.0)
    crowd(storm, 100)
    storm.api.put(("Workload", "ns/late"), workload("late", 200, "q0", 1, -1))
    storm.api.event("Workload")
    storm.loop.round(0)
    settle(storm)

    assert holds(storm.api.objects["Workload", "ns/late"], "QuotaReserved")
    assert not storm.loop.core.decider.reasons


class Held(Prompt):
    """Events and answers about Workloads are delayed: first the watch event of a new Workload, then the answer."""

    def __init__(self) -> None:
        self.holds = True
        self.held: list[Observed | Outcome] = []
        super().__init__((jobs,))

    def deliver(self, message: Observed | Outcome) -> None:
        if self.holds and message.key[0] == "Workload":
            self.held.append(message)
        else:
            super().deliver(message)

    def release(self, which: int = 0) -> None:
        """Delivers one of the delayed messages, and stops delaying."""
        self.holds = False
        self.deliver(self.held.pop(which))
        self.rounds(10)


def why(world: Prompt, name: str = "") -> tuple[str, str, str]:
    """The status, reason and message of QuotaReserved of a Workload, or of the only one; empty if it is not set."""
    found = next(each for key, each in world.objects.items() if key[0] == "Workload" and name in key[1])
    reported = [each for each in found.get("status", {}).get("conditions", []) if each["type"] == "QuotaReserved"]
    return (reported[0]["status"], reported[0]["reason"], reported[0]["message"]) if reported else ("", "", "")


@pytest.mark.parametrize("first", [0, -1], ids=["event", "answer"])
def test_a_pending_job_gets_its_reason_in_either_order_of_event_and_answer(first: int) -> None:
    world = Held()
    world.put(("Job", "ns/large"), job("large", cpu="9"))
    world.rounds(2)
    world.release(first)
    world.release()

    status, reason, message = why(world)
    assert (status, reason) == ("False", "Pending")
    assert "maximum capacity" in message


class Crossed(Prompt):
    """A user changes the Workload just before its first write, so that the write conflicts."""

    crossed = False

    def write(self, key: Key, action: Action) -> None:
        if key[0] == "Workload" and not self.crossed:
            self.crossed = True
            meta = {**self.objects[key]["metadata"], "labels": {"a": "b"}}
            self.put(key, {**self.objects[key], "metadata": meta})
        super().write(key, action)


def test_a_reason_is_written_after_a_conflict() -> None:
    world = Crossed(())
    world.put(("Workload", "ns/w"), workload("w", 1, "q0", 9, 0))
    world.rounds(20)

    assert world.crossed
    assert why(world)[:2] == ("False", "Pending")


def test_a_queue_that_stops_before_the_reason_is_written_becomes_the_reason() -> None:
    world = Held()
    world.put(("Job", "ns/large"), job("large", cpu="9"))
    world.rounds(2)
    world.release()
    world.put(("LocalQueue", "ns/q0"), builders.kueue("LocalQueue", "q0", STOPPED, namespace="ns"))
    world.rounds(3)
    world.release()

    assert why(world) == ("False", "Inadmissible", "LocalQueue q0 is inactive")


def without_requests(key: Key, manifest: Manifest) -> Manifest:
    """A definition that knows no status.resourceRequests, and prunes it."""
    manifest.get("status", {}).pop("resourceRequests", None)
    return manifest


def test_a_pruned_status_field_is_not_written_repeatedly() -> None:
    world = Prompt((), stored=without_requests)
    world.put(("Workload", "ns/w"), workload("w", 0, "q0", 9, 0))
    world.rounds(100, apart=SECOND)

    assert why(world)[:2] == ("False", "Pending")
    assert len(world.of("Workload")) == 1


def test_a_pending_workload_with_an_admission_in_a_deleted_queue_is_tried_in_its_own() -> None:
    world = Prompt((), observability=GRANULAR)
    stray = workload("w", 0, "q0", 9, 0)
    stray["status"] = {"admission": {"clusterQueue": "gone", "podSetAssignments": []}}
    world.put(("Workload", "ns/w"), stray)
    world.rounds(20)

    assert why(world)[:2] == ("False", "ExceedsMaxQuota")


@pytest.mark.parametrize("observability", [LEGACY, GRANULAR])
def test_a_gated_workload_reports_that_its_queue_stops_and_resumes(observability: Observability) -> None:
    world = Prompt((), observability=observability)
    made = workload("w", 0, "q0", 1, 0)
    world.put(("Workload", "ns/w"), {**made, "metadata": {**made["metadata"], "annotations": {GATED_BY: "a.io/b"}}})
    world.rounds(5)
    gated = ("False", "AdmissionGated", "Admission is gated by: a.io/b")
    assert why(world) == gated
    queue = world.objects["LocalQueue", "ns/q0"]

    world.put(("LocalQueue", "ns/q0"), {**queue, "spec": STOPPED})
    world.rounds(5)
    assert why(world)[2] == "LocalQueue q0 is inactive"
    world.put(("LocalQueue", "ns/q0"), queue)
    world.rounds(5)
    assert why(world) == gated
    queue = world.objects["ClusterQueue", "q0"]
    world.put(("ClusterQueue", "q0"), {**queue, "spec": {**queue["spec"], "stopPolicy": "Hold"}})
    world.rounds(5)
    assert why(world)[2] == "ClusterQueue q0 is inactive"
    world.put(("ClusterQueue", "q0"), queue)
    world.rounds(5)
    assert why(world) == gated


def test_a_workload_that_was_tried_reports_that_its_cluster_queue_stops() -> None:
    """Kueue may keep the reason of the last attempt."""
    world = Prompt(())
    world.put(("Workload", "ns/w"), workload("w", 0, "q0", 9, 0))
    world.rounds(5)
    assert why(world)[:2] == ("False", "Pending")

    world.put(("ClusterQueue", "q0"), {**world.objects["ClusterQueue", "q0"], "spec": {**STRICT, "stopPolicy": "Hold"}})
    world.rounds(5)

    assert why(world) == ("False", "Inadmissible", "ClusterQueue q0 is inactive")


def waits_for_pods(made: Manifest) -> Manifest:
    waits = {"type": "WaitingForReplacementPods", "status": "True", "reason": "PodsFailed", "message": ""}
    return {**made, "status": {"conditions": [{**waits, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}


@pytest.mark.parametrize(
    "kept_out",
    [lambda made: {**made, "spec": {**made["spec"], "active": False}}, waits_for_pods],
    ids=["inactive", "waits for pods"],
)
def test_a_workload_outside_the_queue_reports_that_its_queue_stops(kept_out: Callable[[Manifest], Manifest]) -> None:
    world = Prompt(())
    world.put(("Workload", "ns/w"), kept_out(workload("w", 0, "q0", 1, 0)))
    world.rounds(5)
    assert "is inactive" not in why(world)[2]
    queue, local = world.objects["ClusterQueue", "q0"], world.objects["LocalQueue", "ns/q0"]

    world.put(("ClusterQueue", "q0"), {**queue, "spec": {**queue["spec"], "stopPolicy": "Hold"}})
    world.rounds(5)
    assert why(world) == ("False", "Inadmissible", "ClusterQueue q0 is inactive")
    world.put(("LocalQueue", "ns/q0"), {**local, "spec": STOPPED})
    world.rounds(5)
    assert why(world) == ("False", "Inadmissible", "LocalQueue q0 is inactive")


def test_a_workload_reports_the_missing_quota_again_when_the_local_queue_resumes() -> None:
    """Even if an equal Workload was tried before."""
    world = Prompt(())
    world.put(("Workload", "ns/w"), workload("w", 0, "q0", 9, 0))
    world.put(("Workload", "ns/same"), workload("same", 1, "q0", 9, 0))
    world.rounds(5)
    before, local = why(world), world.objects["LocalQueue", "ns/q0"]
    assert before[1] == "Pending"

    world.put(("LocalQueue", "ns/q0"), {**local, "spec": STOPPED})
    world.rounds(5)
    assert why(world)[2] == "LocalQueue q0 is inactive"
    world.put(("LocalQueue", "ns/q0"), local)
    world.rounds(5)

    assert why(world) == before


@pytest.mark.parametrize("stopped", [False, True])
def test_quota_released_by_a_deleted_or_drained_local_queue_admits_work_of_another(stopped: bool) -> None:
    """Kueue tries pending Workloads again when something else changes."""
    world = Prompt(())
    world.put(("LocalQueue", "ns/other"), builders.local_queue("other", "q0"))
    queue, checks = world.objects["ClusterQueue", "q0"], {"admissionChecks": [{"name": "c"}]}
    world.put(("ClusterQueue", "q0"), {**queue, "spec": {**queue["spec"], "admissionChecksStrategy": checks}})
    world.put(("AdmissionCheck", "c"), active(builders.kueue("AdmissionCheck", "c", {"controllerName": "a.b/c"})))
    world.put(("Workload", "ns/first"), workload("first", 0, "q0", 2, 0))
    world.rounds(5)
    assert why(world, "first") == ("True", "QuotaReserved", "Quota reserved in ClusterQueue q0")
    world.put(("Workload", "ns/second"), workload("second", 1, "other", 2, 0))
    world.rounds(5)
    assert why(world, "second")[:2] == ("False", "Pending")

    if stopped:
        own = world.objects["LocalQueue", "ns/q0"]
        world.put(("LocalQueue", "ns/q0"), {**own, "spec": {**own["spec"], "stopPolicy": "HoldAndDrain"}})
    else:
        world.remove(("LocalQueue", "ns/q0"))
    world.rounds(10)

    assert why(world, "first")[:2] == ("False", "Inadmissible")
    assert why(world, "second")[:2] == ("True", "QuotaReserved")


def active(check: Manifest) -> Manifest:
    reported = {"type": "Active", "status": "True", "reason": "Active", "message": ""}
    return {**check, "status": {"conditions": [{**reported, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}


def test_a_workload_that_waits_for_pods_is_not_counted_as_pending() -> None:
    world = Prompt(())
    world.put(("Workload", "ns/w"), workload("w", 0, "q0", 9, 0))
    world.rounds(5, apart=SECOND)
    assert world.objects["LocalQueue", "ns/q0"]["status"]["pendingWorkloads"] == 1

    world.put(("Workload", "ns/w"), waits_for_pods(world.objects["Workload", "ns/w"]))
    world.rounds(5, apart=SECOND)

    assert world.objects["LocalQueue", "ns/q0"]["status"]["pendingWorkloads"] == 0


def test_a_queue_that_stops_creates_an_event_for_each_pending_workload() -> None:
    world = Prompt(())
    world.put(("Workload", "ns/w"), workload("w", 0, "q0", 9, 0))
    world.rounds(5)
    queue = world.objects["ClusterQueue", "q0"]

    world.put(("ClusterQueue", "q0"), {**queue, "spec": {**queue["spec"], "stopPolicy": "Hold"}})
    world.rounds(5)

    assert ("Warning", "Inadmissible", "Workload", "ClusterQueue q0 is inactive") in world.events


def test_a_workload_equal_to_a_deleted_one_gets_a_reason() -> None:
    """A manager creates the copy of a Workload on a worker again after an eviction."""
    world = Prompt(())
    world.put(("Workload", "ns/first"), workload("first", 0, "q0", 9, 0))
    world.rounds(5)
    first = why(world, "first")
    assert first[0] == "False"
    world.remove(("Workload", "ns/first"))

    world.put(("Workload", "ns/second"), workload("second", 1, "q0", 9, 0))
    world.rounds(5)

    assert why(world, "second") == first


def test_a_status_change_of_a_cohort_retries_no_workloads() -> None:
    """Neither quota nor parent have changed."""
    world = Prompt(())
    world.put(("Cohort", "team"), builders.cohort("team"))
    world.put(("ClusterQueue", "q0"), cluster_queue("q0", "team", 3))
    world.put(("Workload", "ns/runs"), workload("runs", 0, "q0", 2, 0))
    world.put(("Workload", "ns/waits"), workload("waits", 1, "q0", 2, 0))
    world.rounds(5)
    told = why(world, "waits")
    assert told[2].endswith("1 more needed")
    world.put(("Workload", "ns/next"), workload("next", 2, "q0", 1, 0))
    world.rounds(5)

    world.put(("Cohort", "team"), {**world.objects["Cohort", "team"], "status": {"fairSharing": {"weightedShare": 7}}})
    world.rounds(5)
    assert why(world, "waits") == told

    world.put(("Cohort", "team"), {**world.objects["Cohort", "team"], "spec": {"resourceGroups": [cpus(2)]}})
    world.rounds(5)
    assert why(world, "waits")[0] == "True"


def test_checks_are_listed_when_the_local_queue_resumes() -> None:
    world = Prompt(())
    local, queue = world.objects["LocalQueue", "ns/q0"], world.objects["ClusterQueue", "q0"]
    checks = {"admissionChecks": [{"name": "c"}]}
    world.put(("ClusterQueue", "q0"), {**queue, "spec": {**queue["spec"], "admissionChecksStrategy": checks}})
    world.put(("LocalQueue", "ns/q0"), {**local, "spec": STOPPED})
    world.put(("Workload", "ns/w"), workload("w", 0, "q0", 9, 0))
    world.rounds(5)
    assert why(world)[2] == "LocalQueue q0 is inactive"
    assert "admissionChecks" not in world.objects["Workload", "ns/w"]["status"]

    world.put(("LocalQueue", "ns/q0"), local)
    world.rounds(5)

    assert [each["name"] for each in world.objects["Workload", "ns/w"]["status"]["admissionChecks"]] == ["c"]


# --- with granular reasons

BYPASSED = "Bypassed scheduling evaluation because an equivalent workload recently failed"


def equals(observability: Observability, count: int = 3) -> Prompt:
    """So many Workloads that are alike, and too large."""
    world = Prompt((), observability=observability)
    for number in range(count):
        world.put(("Workload", f"ns/w{number}"), workload(f"w{number}", number, "q0", 9, 0))
    world.rounds(20)
    return world


def test_equal_workloads_are_reported_as_bypassed_only_with_granular_reasons() -> None:
    legacy, granular = equals(LEGACY), equals(GRANULAR)

    assert why(legacy, "w0")[1] == "Pending"
    assert why(legacy, "w1") == why(legacy, "w2") == ("", "", "")
    assert "status" not in legacy.objects["Workload", "ns/w1"]
    assert why(granular, "w0")[1] == "ExceedsMaxQuota"
    assert why(granular, "w1") == why(granular, "w2") == ("False", "ExceedsMaxQuota", BYPASSED)


def test_an_equal_workload_with_another_pod_set_name_is_bypassed_too() -> None:
    """In Kueue 0.20 the two are equal."""
    world = Prompt((), observability=GRANULAR)
    world.loop.core.state.world.counting = Counting(hashes_names=False)
    for number, name in enumerate(("main", "workers")):
        made = workload(f"w{number}", number, "q0", 9, 0)
        made["spec"]["podSets"][0]["name"] = name
        world.put(("Workload", f"ns/w{number}"), made)
    world.rounds(20)

    assert why(world, "w1") == ("False", "ExceedsMaxQuota", BYPASSED)


def test_an_equal_workload_that_comes_later_is_bypassed_too() -> None:
    world = equals(GRANULAR, 1)
    world.put(("Workload", "ns/late"), workload("late", 9, "q0", 9, 0))
    world.rounds(20)

    assert why(world, "late") == ("False", "ExceedsMaxQuota", BYPASSED)
    writes = len(world.of("Workload"))
    world.rounds(20, apart=SECOND)
    assert len(world.of("Workload")) == writes


def test_a_workload_tried_earlier_is_bypassed_by_the_last_attempt() -> None:
    """Each is the head once: quota grows, but is never enough."""
    world = equals(GRANULAR)
    world.drop(("Workload", "ns/w0"))
    world.put(("ClusterQueue", "q0"), cluster_queue("q0", "", 4))
    world.rounds(20)
    assert "(4)" in why(world, "w1")[2]
    world.put(("Workload", "ns/w0"), workload("w0", 0, "q0", 9, 0))
    world.put(("ClusterQueue", "q0"), cluster_queue("q0", "", 5))
    world.rounds(20)

    assert "(5)" in why(world, "w0")[2]
    assert why(world, "w1") == why(world, "w2") == ("False", "ExceedsMaxQuota", BYPASSED)


def test_a_reactivated_workload_waits_for_quota_again() -> None:
    world = Prompt((), observability=GRANULAR)
    world.put(("Workload", "ns/runs"), workload("runs", 1, "q0", 3, 0))
    world.rounds(6)
    world.put(("Workload", "ns/waits"), workload("waits", 2, "q0", 2, 0))
    world.rounds(6)

    for active, reason in ((True, "WaitingForQuota"), (False, "Deactivated"), (True, "WaitingForQuota")):
        found = world.objects["Workload", "ns/waits"]
        world.put(("Workload", "ns/waits"), {**found, "spec": {**found["spec"], "active": active}})
        world.rounds(10)
        assert why(world, "waits")[:2] == ("False", reason)


def test_explicit_reasons_are_written_before_the_first_attempt() -> None:
    """In a StrictFIFO queue only the head is tried."""
    states = {}
    for observability in (LEGACY, GRANULAR, Observability(granular=True, explicit=True)):
        world = Prompt((), observability=observability)
        world.put(("ClusterQueue", "q0"), cluster_queue("q0", "", 3) | {"spec": STRICT})
        world.put(("Workload", "ns/w0"), workload("w0", 0, "q0", 9, 0))
        world.put(("Workload", "ns/w1"), workload("w1", 1, "q0", 1, 0))
        world.rounds(20)
        conditions = world.objects["Workload", "ns/w1"].get("status", {}).get("conditions", [])
        states[observability] = {each["type"]: (each["status"], each["reason"]) for each in conditions}

    assert [*states.values()] == [
        {},
        {},
        {"QuotaReserved": ("False", "PendingEvaluation"), "Admitted": ("False", "NoReservation")},
    ]


@pytest.mark.parametrize("relabelled", [False, True])
@pytest.mark.parametrize(
    ("gates", "served"), [({}, ("True", "QuotaReserved")), ({GATED_BY: "example.com/a"}, ("False", "AdmissionGated"))]
)
def test_a_namespace_that_does_not_match_the_selector_is_misconfigured(
    gates: dict[str, str], served: tuple[str, str], relabelled: bool
) -> None:
    """It is also reported behind an admission gate, where Workloads are not tried."""
    world = Prompt((), observability=GRANULAR)
    picky = cluster_queue("q0", "", 3)
    picky["spec"]["namespaceSelector"] = {"matchLabels": {"team": "x"}}
    world.put(("ClusterQueue", "q0"), picky)
    made = workload("w", 0, "q0", 1, 0)
    world.put(("Workload", "ns/w"), {**made, "metadata": {**made["metadata"], "annotations": gates}})
    world.rounds(20)
    assert why(world)[1:] == ("Misconfigured", "workload namespace doesn't match ClusterQueue selector")

    if relabelled:
        namespace = world.objects["Namespace", "ns"]
        labels = {**namespace["metadata"].get("labels", {}), "team": "x"}
        world.put(("Namespace", "ns"), {**namespace, "metadata": {**namespace["metadata"], "labels": labels}})
    else:
        picky["spec"]["namespaceSelector"] = {}
        world.put(("ClusterQueue", "q0"), picky)
    world.rounds(20)
    assert why(world)[:2] == served
