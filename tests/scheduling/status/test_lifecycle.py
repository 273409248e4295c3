"""The next step of a workload where several steps could be due."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduling.objects.queue_settings import LocalQueueSettings, read_queue_settings
from scheduling.objects.times import SECOND
from scheduling.objects.workload import (
    Admission,
    CheckState,
    Owner,
    PodSetAdmission,
    PreemptionGate,
    RequeueState,
    Workload,
)
from scheduling.status.deadlines import WaitForPodsReady, deactivate, release
from scheduling.status.eviction import evict, target_for_deactivation
from scheduling.status.lifecycle import Lifecycle, next_moment
from scheduling.status.requeue import RequeueBackoff, backoff_over, requeued
from scheduling.status.unadmitted import UnadmittedCause
from tests.builders import cluster_queue, flavor, group
from tests.scheduling.cluster import GRANULAR
from tests.scheduling.manifests import condition, workload

WAITING = WaitForPodsReady(timeout=300 * SECOND, backoff=RequeueBackoff(base=60))
LOCAL = LocalQueueSettings("ns", "q", "a")


def _admitted() -> Workload:
    """With quota, and without news of its pods."""
    conditions = [condition("QuotaReserved"), condition("Admitted")]
    return workload(status={"conditions": conditions, "admission": {"clusterQueue": "a"}})


def _step(found: Workload, now: int) -> Workload:
    return Lifecycle(now, LOCAL, None, None, WAITING).next(found)


def test_a_job_that_stops_after_its_backoff_is_requeued() -> None:
    running = _admitted()
    due = next_moment(running, WAITING)
    evicted = _step(running, due)
    assert evicted.evicted
    assert evicted.requeue is not None

    later = due + 600 * SECOND
    assert _step(evicted, later) == evicted  # its job has not stopped yet, so that there is nothing to come back from
    assert next_moment(evicted, WAITING) == 0
    stopped = release(evicted, later)

    assert not backoff_over(stopped, later)
    assert next_moment(stopped, WAITING) == evicted.requeue.at
    timeless = _step(stopped, later)
    assert not backoff_over(timeless, later)
    assert backoff_over(_step(timeless, later), later)


def test_a_backoff_ends_also_while_the_workload_has_quota() -> None:
    waits = {**condition("Requeued", "False", "PodsReadyTimeout")}
    evicted = evict(_admitted(), "PodsReadyTimeout", "too slow", 0)
    held = replace(evicted, conditions={**evicted.conditions, **workload(status={"conditions": [waits]}).conditions})
    held = replace(held, requeue=RequeueState(1, SECOND))
    assert next_moment(held, WAITING) == SECOND

    cleared = _step(held, SECOND)

    assert cleared.requeue == RequeueState(1, 0)
    assert _step(cleared, SECOND).conditions["Requeued"][:2] == ("True", "BackoffFinished")


def test_a_deadline_that_has_passed_does_not_hide_the_end_of_the_backoff() -> None:
    running = _admitted()
    evicted = _step(running, next_moment(running, WAITING))
    told = requeued(evicted, "PodsReadyTimeout", "too slow", 0, status=False)  # its job has not stopped yet

    assert evicted.requeue is not None
    assert next_moment(told, WAITING) == evicted.requeue.at


def test_an_admitted_workload_stays_admitted_while_checks_are_pending() -> None:
    """One check is Pending again, and another was added to the ClusterQueue."""
    checks = {"admissionChecks": [{"name": "new"}]}
    groups = group("cpu", flavor("plain", cpu="1"))
    queue = read_queue_settings(cluster_queue("a", None, groups, admissionChecksStrategy=checks))
    held = Admission("a", (PodSetAdmission("main", {"cpu": "plain"}, {"cpu": 1000}, 1),))
    pending = (CheckState("old", "Pending", "once more", SECOND),)
    running = replace(_admitted(), admission=held, checks=pending)
    assert _step(running, SECOND) == running

    told = Lifecycle(SECOND, LOCAL, queue).next(running)

    assert [(check.name, check.state) for check in told.checks] == [("new", "Pending")]
    assert told.admitted
    assert Lifecycle(SECOND, LOCAL, queue).next(told) == told


def test_an_evicted_workload_is_not_admitted_when_its_checks_become_ready() -> None:
    """It must release its quota; Kueue admits it until then."""
    held = workload(status={"conditions": [condition("QuotaReserved")], "admission": {"clusterQueue": "a"}})
    evicted = evict(replace(held, checks=(CheckState("c", "Pending"),)), "Preempted", "to make room", SECOND)

    ready = replace(evicted, checks=(CheckState("c", "Ready"),))

    assert not _step(ready, SECOND).admitted


@pytest.mark.parametrize(
    "local", [LocalQueueSettings("ns", "q", "a", stop_policy="Hold"), None], ids=["stopped", "missing"]
)
def test_a_drained_cluster_queue_evicts_also_behind_a_stopped_local_queue(
    local: LocalQueueSettings | None,
) -> None:
    """Kueue finds no ClusterQueue behind a LocalQueue that is stopped."""
    drained = read_queue_settings(cluster_queue("a", None, stopPolicy="HoldAndDrain"))

    after = Lifecycle(SECOND, local, drained, local_gone=local is None).next(_admitted())

    assert after.conditions["Evicted"].reason == "ClusterQueueStopped"


def test_each_preemption_gate_has_a_position_if_gates_are_mirrored() -> None:
    gates = [{"name": "new"}, {"name": "kept"}]
    status = {"preemptionGates": [{"name": "kept", "position": "Open"}, {"name": "dropped", "position": "Open"}]}
    found = workload(spec={"preemptionGates": gates}, status=status)

    mirrored = Lifecycle(SECOND, LOCAL, mirrors_gates=True).next(found)

    assert mirrored.gate_states == {"new": PreemptionGate("Closed", SECOND), "kept": PreemptionGate("Open")}
    assert Lifecycle(SECOND, LOCAL, mirrors_gates=True).next(mirrored) is mirrored
    assert Lifecycle(SECOND, LOCAL).next(found) is found


GATED = "kueue.x-k8s.io/admission-gated-by"
MESSAGE = "Admission is gated by: example.com/a,example.com/b"


def _gated(names: str = "example.com/a,example.com/b") -> Workload:
    return workload(annotations={GATED: names})


def _at_gate(found: Workload, now: int = 0, *, gated: bool = True, blocked: UnadmittedCause | None = None) -> Workload:
    return Lifecycle(now, LOCAL, None, blocked, None, gated=gated).next(found)


def _why(found: Workload) -> tuple[str, str, str]:
    condition = found.conditions["QuotaReserved"]
    return condition.status, condition.reason, condition.message


def test_gates_are_reported_once_and_not_again_when_one_is_removed() -> None:
    held = _at_gate(_gated())

    assert _why(held) == ("False", "AdmissionGated", MESSAGE)
    one = replace(held, annotations={GATED: "example.com/b"})
    assert _at_gate(held) == held
    assert _at_gate(one) == one


def test_granular_reasons_list_the_remaining_gates() -> None:
    held = _at_gate(_gated())
    one = replace(held, annotations={GATED: "example.com/b"})

    granular = Lifecycle(0, LOCAL, gated=True, observability=GRANULAR)
    after = granular.next(one)

    assert _why(after) == ("False", "AdmissionGated", "Admission is gated by: example.com/b")
    assert _why(granular.next(after)) == _why(after)


def test_a_removed_gate_is_reported() -> None:
    free = replace(_at_gate(_gated()), annotations={})

    reported = _at_gate(free, gated=False)

    assert _why(reported) == ("False", "Pending", "AdmissionGatedBy cleared, waiting for quota reservation")
    assert _at_gate(reported, gated=False) == reported


def test_a_missing_queue_is_reported_before_a_gate() -> None:
    missing = UnadmittedCause("Misconfigured", "LocalQueue q doesn't exist")

    reported = _at_gate(_at_gate(_gated()), blocked=missing)

    assert _why(reported)[2] == missing[1]
    assert _at_gate(reported, blocked=missing) == reported
    assert _why(_at_gate(reported)) == ("False", "AdmissionGated", MESSAGE)


def test_a_preemption_gate_is_not_an_admission_gate() -> None:
    waits = condition("QuotaReserved", "False", "AdmissionGated")
    waits["message"] = "Workload requires preemption, but it's gated"
    found = workload(status={"conditions": [waits]})

    assert _at_gate(found, gated=False) == found


def test_a_workload_at_a_gate_is_not_admitted_although_quota_is_reserved() -> None:
    """As in Kueue. Its gate was added while the webhook was off, for example."""
    reserved = {"conditions": [condition("QuotaReserved")], "admission": {"clusterQueue": "a"}}

    held = _at_gate(replace(workload(status=reserved), annotations={GATED: "example.com/a,example.com/b"}))

    assert _why(held) == ("False", "AdmissionGated", MESSAGE)
    assert (held.admission, held.admitted) == (None, False)
    assert _at_gate(held) == held


def test_a_gate_is_not_reported_for_an_admitted_workload_or_an_inactive_one() -> None:
    running = replace(_admitted(), annotations={GATED: "example.com/a"})

    assert _at_gate(running) == running
    away = _at_gate(replace(_gated(), active=False))
    assert "QuotaReserved" not in away.conditions or _why(away)[1] != "AdmissionGated"


@pytest.mark.parametrize("cause", ["", "RequeuingLimitExceeded", "MaximumExecutionTimeExceeded", "AdmissionCheck"])
def test_a_reactivated_workload_is_requeued_whatever_the_cause(cause: str) -> None:
    stopped = _admitted()
    if cause:
        stopped = target_for_deactivation(stopped, cause, "why", SECOND)
    released = release(deactivate(stopped, SECOND), SECOND)
    assert not backoff_over(released, SECOND)

    again = _step(replace(released, active=True), SECOND)

    assert again.conditions["Requeued"][:3] == ("True", "Reactivated", "The workload was reactivated")
    assert backoff_over(again, SECOND)


@pytest.mark.parametrize("reason", ["Preempted", "NodeFailures"])
@pytest.mark.parametrize(
    ("kinds", "annotations", "again"),
    [
        (("Pod",), {}, False),
        (("Pod",), {"kueue.x-k8s.io/is-group-workload": "true"}, True),
        (("Pod", "Pod"), {}, True),
        (("Job",), {}, True),
        ((), {}, True),
    ],
)
def test_a_single_pod_that_was_evicted_does_not_queue_again(
    reason: str, kinds: tuple[str, ...], annotations: dict[str, str], again: bool
) -> None:
    versions = {"Pod": "v1", "Job": "batch/v1"}
    owners = tuple(Owner(versions[kind], kind, f"{kind}-{at}", f"uid-{at}") for at, kind in enumerate(kinds))
    found = replace(_admitted(), owners=owners, annotations=annotations)

    free = release(evict(found, reason, "so it goes", SECOND), 2 * SECOND)

    assert free.conditions["Requeued"].status == str(again)
    assert free.conditions["Requeued"].reason == reason
