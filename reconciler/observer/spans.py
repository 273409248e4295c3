"""Tracing spans of decisions: what happened to each Workload, and the cycles and rounds in which it was decided.

The spans of one Workload until its admission have a common parent, `admission`, which is recorded last.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence

from cluster.tracing.span import Attribute, Parent, SpanContext, SpanRecorder, TraceSpan
from reconciler.objects.following import admission, queued_since
from reconciler.objects.observed import Observed
from reconciler.objects.watched import WORKLOAD_VIEW
from reconciler.observer.observer import Observer
from scheduling.objects.times import SECOND
from scheduling.objects.workload import ADMITTED, EVICTED, FINISHED, QUOTA_RESERVED, Workload
from scheduling.placement.group import placed_on
from scheduling.world.decisions import Decision, Preempt, Reserve

_LINKS = 64
"""The most links of a cycle's span. Collectors keep at most 128."""


class SpanObserver(Observer):
    """Records spans.

    `leads`: returns whether this process writes. Changes of stored objects are recorded by one replica only.
    `clock`: returns nanoseconds.
    """

    def __init__(
        self, recorder: SpanRecorder, leads: Callable[[], bool], clock: Callable[[], int] = time.time_ns
    ) -> None:
        self._recorder = recorder
        self._leads = leads
        self._clock = clock
        self._round: SpanContext | None = None
        self._began = 0

    # --- decisions

    def decided(self, decisions: Sequence[Decision], seconds: float) -> None:
        ended = self._clock()
        began = ended - int(seconds * SECOND)
        if self._round is None:
            self._round, self._began = SpanContext(secrets.token_hex(16), secrets.token_hex(8)), began
        cycle = SpanContext(self._round.trace, secrets.token_hex(8))
        contexts = [context for each in decisions[:_LINKS] if (context := admission(_workload_of(each))) is not None]
        self._recorder.record(
            TraceSpan("cycle", cycle, began, ended, _counts(decisions), Parent(self._round.span), links=contexts)
        )
        for decision in decisions:
            for span in _decided(decision, cycle, began, ended):
                self._recorder.record(span)

    def passed(self, now: int, seconds: float, /) -> None:  # noqa: ARG002
        """Record the round, if it had decisions."""
        if self._round is not None:
            ended = self._clock()
            began = min(self._began, ended - int(seconds * SECOND))
            self._recorder.record(TraceSpan("round", self._round, began, ended))
            self._round = None

    # --- stored changes

    def changing(self, before: Observed[object] | None, after: Observed[object], now: int) -> None:  # noqa: ARG002
        old, new = WORKLOAD_VIEW.value(before), WORKLOAD_VIEW.value(after)
        if old is not None and new is not None and self._leads():
            for span in _stored(old, new, self._clock()):
                self._recorder.record(span)


def about(workload: Workload, **more: Attribute) -> dict[str, Attribute]:
    found = {"workload": workload.key, "uid": workload.uid, "local_queue": workload.local_queue, **more}
    return {f"quotree.{key}": value for key, value in found.items()}


def _workload_of(decision: Decision) -> Workload:
    return decision.preemptor if isinstance(decision, Preempt) else decision.workload


def _counts(decisions: Sequence[Decision]) -> dict[str, Attribute]:
    reserved = sum(isinstance(each, Reserve) for each in decisions)
    preempted = sum(isinstance(each, Preempt) for each in decisions)
    waiting = len(decisions) - reserved - preempted
    return {"quotree.reserved": reserved, "quotree.preempted": preempted, "quotree.waiting": waiting}


def _decided(decision: Decision, cycle: SpanContext, began: int, ended: int) -> Iterator[TraceSpan]:
    """The spans of a decision. A workload that keeps waiting gets none, because it may be tried each second."""
    workload = _workload_of(decision)
    parent = admission(workload)
    if parent is None:
        return
    if isinstance(decision, Reserve):
        queue: Attribute = decision.queue
        yield _child_span("queued", parent, queued_since(workload), began, about(workload, cluster_queue=queue))
        yield _child_span("decided", parent, began, ended, about(workload, cluster_queue=queue), cycle)
    elif isinstance(decision, Preempt):
        victim = decision.target.reservation.workload
        context = admission(victim)
        links = (cycle, *((context,) if context is not None else ()))
        yield _child_span(
            "preempts", parent, began, ended, about(workload, victim=victim.key, victim_uid=victim.uid), *links
        )


def _stored(before: Workload, after: Workload, now: int) -> Iterator[TraceSpan]:
    parent = admission(before)
    if parent is None:
        return
    if (cluster := placed_on(after)) and cluster != placed_on(before):
        yield _child_span("placed", parent, _reserved_at(after, now), now, about(after, cluster=cluster))
    if _new(before, after, ADMITTED):
        queue = after.admission.cluster_queue if after.admission is not None else ""
        if after.checks:
            names = [check.name for check in after.checks]
            yield _child_span("checks", parent, _reserved_at(after, now), now, about(after, checks=names))
        yield TraceSpan("admission", parent, queued_since(before), now, about(after, cluster_queue=queue))
    if _new(before, after, EVICTED) and before.admission is not None:
        evicted = after.conditions[EVICTED]
        yield _child_span("evicted", parent, now, now, about(after, reason=evicted.reason, message=evicted.message))
    if _new(before, after, FINISHED):
        yield _child_span("finished", parent, now, now, about(after, reason=after.conditions[FINISHED].reason))


def _child_span(
    name: str, parent: SpanContext, began: int, ended: int, attributes: dict[str, Attribute], *links: SpanContext
) -> TraceSpan:
    """A span whose parent is the workload's span `admission`."""
    own = SpanContext(parent.trace, secrets.token_hex(8))
    return TraceSpan(name, own, began, ended, attributes, Parent(parent.span), links)


def _new(before: Workload, after: Workload, kind: str) -> bool:
    return after.holds(kind) and not before.holds(kind)


def _reserved_at(workload: Workload, now: int) -> int:
    reserved = workload.holding(QUOTA_RESERVED)
    return reserved.since if reserved is not None else now
