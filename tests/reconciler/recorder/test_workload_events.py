"""Which changes of a Workload are Events."""

from __future__ import annotations

from dataclasses import replace

from policies.model.pools import Terms
from reconciler.recorder.recorder import EventRecorder
from reconciler.recorder.workload_events import News, details, workload_news
from scheduling.objects.queue_settings import LOWER_PRIORITY, PreemptionPolicy
from scheduling.objects.times import SECOND
from scheduling.objects.workload import Admission, CheckState, Workload
from scheduling.status.conditions import with_condition
from scheduling.status.deadlines import act_on_checks, end_execution
from scheduling.status.eviction import evict, preempt
from scheduling.status.lifecycle import Lifecycle
from scheduling.status.reservation import reserve, sync_admitted, unreserve
from scheduling.status.unadmitted import BYPASSED, DEACTIVATED_MESSAGE, IN_QUEUE
from scheduling.world.decisions import Preempt, Reserve
from tests.reconciler.two_queues import NOW, running
from tests.scheduling.cluster import GRANULAR, Cluster, queue_settings
from tests.scheduling.manifests import pod_set, workload

CREATED = NOW - 60 * SECOND
NEW = replace(workload(uid="u"), created=CREATED)


def news(before: Workload, after: Workload) -> list[News]:
    return [*workload_news(before, after)]


def test_a_reservation_and_an_admission_are_events_with_their_wait_times() -> None:
    held = reserve(NEW, Admission("q"), NOW)
    assert news(NEW, held) == [
        News("QuotaReserved", "Quota reserved in ClusterQueue q, wait time since queued was 60s")
    ]
    admitted = sync_admitted(held, NOW + 5 * SECOND)
    assert news(held, admitted) == [News("Admitted", "Admitted by ClusterQueue q, wait time since reservation was 5s")]
    assert len(news(NEW, admitted)) == 2
    assert news(admitted, admitted) == []


def test_the_wait_time_of_a_requeued_workload_starts_at_its_requeueing() -> None:
    again = with_condition(NEW, "Requeued", "True", "BackoffFinished", "", NOW - 7 * SECOND)
    assert "was 7s" in news(again, reserve(again, Admission("q"), NOW))[0].message


def test_a_reason_for_waiting_is_a_warning_when_it_is_new() -> None:
    waits = unreserve(NEW, "WaitingForQuota", "2 more needed", NOW)
    assert news(NEW, waits) == [News("WaitingForQuota", "2 more needed", True)]
    assert news(waits, unreserve(waits, "WaitingForQuota", "2 more needed", NOW)) == []
    assert news(waits, unreserve(waits, "WaitingForQuota", "1 more needed", NOW)) == [
        News("WaitingForQuota", "1 more needed", True)
    ]


def test_reasons_of_workloads_that_were_not_tried_are_not_events() -> None:
    for message in (BYPASSED, IN_QUEUE, DEACTIVATED_MESSAGE):
        assert news(NEW, unreserve(NEW, "PendingEvaluation", message, NOW, GRANULAR)) == []


def test_an_eviction_without_quota_is_not_an_event() -> None:
    gone = evict(NEW, "Deactivated", "The workload is deactivated", NOW)

    assert gone.evicted
    assert news(NEW, gone) == []


def test_quota_released_by_a_stopped_queue_is_not_an_event() -> None:
    held = reserve(NEW, Admission("q"), NOW)

    assert news(held, unreserve(held, "Inadmissible", "LocalQueue q is stopped", NOW)) == []


def test_an_eviction_is_an_event_and_its_released_quota_is_not() -> None:
    held = running()
    gone = preempt(held, "InClusterQueue", "Preempted to accommodate x", NOW)
    assert news(held, gone) == [
        News("EvictedDueToPreempted", "Preempted to accommodate x"),
        News("Preempted", "Preempted to accommodate x"),
    ]
    assert news(gone, unreserve(gone, "PendingEvaluation", "Preempted to accommodate x", NOW)) == []
    late = evict(held, "PodsReadyTimeout", "too late", NOW)
    assert news(held, late) == [News("EvictedDueToPodsReadyTimeout", "too late")]


def test_a_rejected_check_is_a_warning_and_each_change_of_a_check_is_an_event() -> None:
    held = replace(running(admitted=False), checks=(CheckState("a", "Pending"), CheckState("b", "Pending")))
    moved = replace(held, checks=(CheckState("a", "Ready"), CheckState("b", "Rejected", "no stock")))
    assert news(held, moved) == [
        News("AdmissionCheckUpdated", "Admission check a updated state from Pending to Ready"),
        News(
            "AdmissionCheckUpdated", "Admission check b updated state from Pending to Rejected with message: no stock"
        ),
    ]
    (rejected,) = news(moved, act_on_checks(moved, NOW))
    assert rejected == News(
        "AdmissionCheckRejected", 'Deactivated due to AdmissionCheck in Rejected state: "b" (no stock)', warning=True
    )


def test_the_event_of_an_exceeded_execution_time_has_the_limit() -> None:
    limited = replace(sync_admitted(reserve(NEW, Admission("q"), NOW), NOW), maximum_seconds=30)
    message = "The maximum execution time (30s) exceeded"

    assert news(limited, end_execution(limited, NOW + 30 * SECOND)) == [
        News("MaximumExecutionTimeExceeded", message, warning=True)
    ]


def test_events_of_changes_refer_to_the_workload() -> None:
    events = EventRecorder()
    events.workload_changed(NEW, sync_admitted(reserve(NEW, Admission("q"), NOW), NOW), NOW, {})
    found = events.due(NOW)
    assert [each.body["reason"] for each in found] == ["QuotaReserved", "Admitted"]
    assert {each.body["involvedObject"]["uid"] for each in found} == {"u"}


def test_a_preemption_reports_both_priorities_to_preemptor_and_victim() -> None:
    policy = PreemptionPolicy(within_cluster_queue=LOWER_PRIORITY)
    cluster = Cluster()
    cluster.put_queue(queue_settings("q", None, {"spot": Terms(2, None, None)}, preemption=policy))
    for name, priority in (("low", 0), ("high", 5)):
        spec = {"queueName": "q", "priority": priority}
        cluster.put(workload(pod_set(gpu="2"), spec=spec, name=name, uid=name))
        cluster.step()
    (decision,) = [each for each in cluster.decided if isinstance(each, Preempt)]
    decision = replace(decision, preemptor=replace(decision.preemptor, boost=2))
    events, victim = EventRecorder(), decision.target.reservation.workload
    events.preempted(decision, NOW)
    events.workload_changed(
        victim, preempt(victim, "InClusterQueue", "Preempted to accommodate x", NOW), NOW, details(decision)
    )
    found = {each.body["reason"]: each.body for each in events.due(NOW)}
    assert found["PreemptedWorkload"]["involvedObject"]["name"] == "high"
    both = "preemptor effective priority: 7 (base: 5, boost: 2); preemptee effective priority: 0 (base: 0, boost: 0)"
    told = found["PreemptedWorkload"]["message"]
    assert told == f"Preempted workload ns/low (UID: low) in ClusterQueue q; {both}"
    assert found["Preempted"]["message"] == f"Preempted to accommodate x; {both}"
    assert found["EvictedDueToPreempted"]["message"] == "Preempted to accommodate x"


def test_a_reservation_event_lists_the_flavors_tried_before() -> None:
    cluster = Cluster()
    cluster.put_queue(queue_settings("q", None, {"spot": Terms(1, None, None), "on-demand": Terms(2, None, None)}))
    cluster.put(workload(pod_set(gpu="2"), spec={"queueName": "q"}, name="w", uid="w"))
    cluster.step()
    (decision,) = [each for each in cluster.decided if isinstance(each, Reserve)]
    events, before = EventRecorder(), decision.workload
    events.workload_changed(before, reserve(before, Admission("q"), NOW), NOW, details(decision))
    (found,) = events.due(NOW)
    assert found.body["message"].endswith(
        "s; Flavors considered: main: spot(NoFit;insufficient quota for gpu in flavor spot, previously considered "
        "podsets requests (0) + current podset request (2) > maximum capacity (1))"
    )


def test_an_admission_gate_is_not_a_warning() -> None:
    gated = replace(NEW, annotations={"kueue.x-k8s.io/admission-gated-by": "example.com/a"})
    held = Lifecycle(NOW, gated=True).next(gated)
    free = Lifecycle(NOW).next(held)
    changed = replace(held, annotations={"kueue.x-k8s.io/admission-gated-by": "example.com/b"})

    assert news(held, Lifecycle(NOW, gated=True, observability=GRANULAR).next(changed)) == []
    assert news(gated, held) == [News("AdmissionGated", "Workload admission is gated by: example.com/a")]
    assert news(held, free) == [News("AdmissionGateCleared", "Admission gate cleared, workload is now admissible")]
    assert news(held, unreserve(held, "Pending", "LocalQueue q doesn't exist", NOW)) == [
        News("Pending", "LocalQueue q doesn't exist", True)
    ]
