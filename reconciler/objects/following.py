"""The ids under which a Workload is followed. They come from what is stored, so all processes name them alike."""

from __future__ import annotations

from cluster.tracing.ids import span_id, trace_id
from cluster.tracing.span import SpanContext
from scheduling.objects.workload import REQUEUED, Workload
from scheduling.placement.group import ORIGIN_UID


def workload_trace(workload: Workload) -> str:
    """The trace; a copy on a worker has that of the Workload it was made of. Empty without a UID.

    Whoever writes a Workload can say that it is a copy of any: its own UID stands beside this id wherever it is told.
    """
    made_of = workload.annotations.get(ORIGIN_UID, "") if workload.origin else ""
    return trace_id(made_of or workload.uid)


def queued_since(workload: Workload) -> int:
    """When it came into its queue, in nanoseconds: made, or requeued since."""
    requeued = workload.conditions.get(REQUEUED)
    return requeued.since if requeued is not None else workload.created


def admission(workload: Workload) -> SpanContext | None:
    """The span of its present way to admission, which is recorded once it is admitted; None without a UID.

    Named by the moment at which it came into its queue, and by its own UID, which tells a copy from the original.
    """
    trace = workload_trace(workload)
    return SpanContext(trace, span_id(trace, "admission", workload.uid, queued_since(workload))) if trace else None
