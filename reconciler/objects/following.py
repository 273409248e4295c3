"""The trace ids of a Workload. They are computed from its stored fields, so that all processes get the same ids."""

from __future__ import annotations

from cluster.tracing.ids import span_id, trace_id
from cluster.tracing.span import SpanContext
from scheduling.objects.workload import REQUEUED, Workload
from scheduling.placement.group import ORIGIN_UID


def workload_trace(workload: Workload) -> str:
    """The trace id; empty without a uid. A copy on a worker has the id of its original.

    A user who writes a Workload can claim that it is a copy of any other. So its own uid is recorded as well.
    """
    made_of = workload.annotations.get(ORIGIN_UID, "") if workload.origin else ""
    return trace_id(made_of or workload.uid)


def queued_since(workload: Workload) -> int:
    """When the Workload entered its queue, in nanoseconds: its creation, or its last requeueing."""
    requeued = workload.conditions.get(REQUEUED)
    return requeued.since if requeued is not None else workload.created


def admission(workload: Workload) -> SpanContext | None:
    """The id of the span from entering the queue to admission; None without a uid. The span is recorded at admission.

    The id is made from the time at which the Workload entered its queue, and from its own uid, which differs between
    copy and original.
    """
    trace = workload_trace(workload)
    return SpanContext(trace, span_id(trace, "admission", workload.uid, queued_since(workload))) if trace else None
