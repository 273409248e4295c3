"""What a change of a Workload adds to which metric. Source: Kueue v0.19, the callers of pkg/metrics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from reconciler import families
from reconciler.families import Families
from reconciler.metrics import LEADER
from reconciler.telling import queued_since
from scheduling.objects.times import SECOND
from scheduling.objects.workload import (
    ADMITTED,
    EVICTED,
    FINISHED,
    PODS_READY,
    PREEMPTED,
    QUOTA_RESERVED,
    Condition,
    Eviction,
    Workload,
)
from scheduling.status.eviction import pending_again

_PREEMPTOR = re.compile(r"preemptor path: \S*?([^/;\s]+);")
"""What the condition Preempted says about who comes instead."""


def count_change(
    made: Families, before: Workload, after: Workload, above: Callable[[str], list[str]], now: int
) -> None:
    """`above` names the Cohorts over a ClusterQueue; `now` is the moment in nanoseconds."""
    _admission(made, before, after, above)
    _ready(made, before, after)
    _end(made, before, after)
    _eviction(made, before, after, now)


def _new(before: Workload, after: Workload, kind: str) -> Condition | None:
    """The condition where it holds and did not before."""
    return after.holding(kind) if not before.holds(kind) else None


def _local(workload: Workload) -> tuple[str, str]:
    return workload.queue, workload.namespace


def _class(workload: Workload) -> str:
    return workload.priority_class.name if workload.priority_class is not None else ""


def _queue(before: Workload, after: Workload) -> str:
    """Where it holds quota, or held it before the change."""
    admission = after.admission or before.admission
    return admission.cluster_queue if admission is not None else ""


def _admission(made: Families, before: Workload, after: Workload, above: Callable[[str], list[str]]) -> None:
    queue, local, of_class = _queue(before, after), _local(after), _class(after)
    reserved, admitted = _new(before, after, QUOTA_RESERVED), _new(before, after, ADMITTED)
    held = after.conditions.get(QUOTA_RESERVED)
    if reserved is not None:
        waited = _seconds(queued_since(before), reserved.since)
        made.add_both(families.RESERVED, LEADER, queue, local, of_class)
        made.add_both(families.RESERVED_WAIT, LEADER, queue, local, of_class, value=waited)
    if admitted is not None and held is not None:
        waited = _seconds(queued_since(before), admitted.since)
        made.add_both(families.ADMITTED, LEADER, queue, local, of_class)
        made.add_both(families.ADMITTED_WAIT, LEADER, queue, local, of_class, value=waited)
        checked = _seconds(held.since, admitted.since)
        made.add_both(families.CHECKS_WAIT, LEADER, queue, local, of_class, value=checked)
        for cohort in above(queue):
            made.add(families.BELOW, LEADER, cohort, of_class)


def _ready(made: Families, before: Workload, after: Workload) -> None:
    ready, admitted = _new(before, after, PODS_READY), after.holding(ADMITTED)
    if ready is not None and admitted is not None:
        labels = _queue(before, after), _local(after), _class(after)
        made.add_both(families.READY_WAIT, LEADER, *labels, value=_seconds(queued_since(after), ready.since))
        made.add_both(families.ADMITTED_READY, LEADER, *labels, value=_seconds(admitted.since, ready.since))


def _end(made: Families, before: Workload, after: Workload) -> None:
    finished, admitted = _new(before, after, FINISHED), before.holding(ADMITTED)
    if finished is None:
        return
    queue, of_class = _queue(before, after), _class(after)
    made.add_both(families.FINISHED, LEADER, queue, _local(after), of_class)
    if admitted is not None:
        ran = (before.past_seconds or 0) + _seconds(admitted.since, finished.since)
        made.add(families.EXECUTION, LEADER, queue, of_class, value=ran)


def _eviction(made: Families, before: Workload, after: Workload, now: int) -> None:
    queue, of_class = _queue(before, after), _class(after)
    evicted, preempted, ready = _new(before, after, EVICTED), _new(before, after, PREEMPTED), before.holding(PODS_READY)
    for told in _counted_anew(before, after):
        made.add_both(families.EVICTED, LEADER, queue, _local(after), told.reason, told.cause, of_class)
        if told.count == 1:
            made.add(families.EVICTED_ONCE, LEADER, queue, told.reason, told.cause, of_class)
        if evicted is not None and ready is not None:
            ran = _seconds(ready.since, evicted.since)
            made.add(families.READY_EVICTED, LEADER, queue, told.reason, told.cause, value=ran)
    if preempted is not None:
        found = _PREEMPTOR.search(preempted.message)
        made.add(families.PREEMPTED, LEADER, found[1] if found else "", preempted.reason)
    gone = pending_again(before, after, now)
    if gone is not None:
        made.add(families.LATENCY, LEADER, gone.cluster_queue, gone.reason, value=max(0, gone.latency) / SECOND)


def _counted_anew(before: Workload, after: Workload) -> Iterator[Eviction]:
    """By status.schedulingStats, which counts each eviction by its reason and cause."""
    known = {(each.reason, each.cause): each.count for each in before.evictions}
    for each in after.evictions:
        if each.count > known.get((each.reason, each.cause), 0):
            yield each


def _seconds(since: int, until: int) -> float:
    return max(0, until - since) / SECOND
