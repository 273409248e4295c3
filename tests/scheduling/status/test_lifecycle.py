"""The next step of a workload by itself, where several steps could be due."""

from __future__ import annotations

from scheduling.objects.queue_settings import LocalQueueSettings
from scheduling.objects.times import SECOND
from scheduling.objects.workload import Gate, Workload
from scheduling.status.deadlines import WaitForPodsReady, release
from scheduling.status.lifecycle import Lifecycle, next_moment
from scheduling.status.requeue import RequeueBackoff, backoff_over
from tests.scheduling.manifests import condition, workload

WAITING = WaitForPodsReady(timeout=300, backoff=RequeueBackoff(base=60))
LOCAL = LocalQueueSettings("ns", "q", "a")


def _admitted() -> Workload:
    """With quota, and without news of its pods."""
    conditions = [condition("QuotaReserved"), condition("Admitted")]
    return workload(status={"conditions": conditions, "admission": {"clusterQueue": "a"}})


def _step(found: Workload, now: int) -> Workload:
    return Lifecycle(now, LOCAL, None, None, WAITING).next(found)


def test_a_job_that_takes_longer_to_stop_than_its_backoff_queues_again() -> None:
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
    assert backoff_over(_step(stopped, later), later)


def test_every_preemption_gate_has_a_position_where_they_are_mirrored() -> None:
    gates = [{"name": "new"}, {"name": "kept"}]
    status = {"preemptionGates": [{"name": "kept", "position": "Open"}, {"name": "dropped", "position": "Open"}]}
    found = workload(spec={"preemptionGates": gates}, status=status)

    mirrored = Lifecycle(SECOND, LOCAL, mirrors_gates=True).next(found)

    assert mirrored.gate_states == {"new": Gate("Closed", SECOND), "kept": Gate("Open")}
    assert Lifecycle(SECOND, LOCAL, mirrors_gates=True).next(mirrored) is mirrored
    assert Lifecycle(SECOND, LOCAL).next(found) is found
