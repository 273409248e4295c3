"""The trace ids of a Workload. They come from what is stored, so all processes compute the same ids."""

from __future__ import annotations

from cluster.tracing.ids import span_id, trace_id
from cluster.tracing.span import SpanContext
from scheduling.objects.workload import REQUEUED, Workload
from scheduling.placement.group import ORIGIN_UID


def workload_trace(workload: Workload) -> str:
    """The trace id; a copy on a worker has the id of its original. Empty without a UID.

    A user who writes a Workload can claim that it is a copy of any other. So its own UID is recorded beside this id.
    """
    made_of = workload.annotations.get(ORIGIN_UID, "") if workload.origin else ""
    return trace_id(made_of or workload.uid)


def queued_since(workload: Workload) -> int:
    """When the Workload entered its queue, in nanoseconds: its creation, or its last requeueing."""
    requeued = workload.conditions.get(REQUEUED)
    return requeued.since if requeued is not None else workload.created


def admission(workload: Workload) -> SpanContext | None:
    """The span id of its present way to admission, which is recorded once it is admitted; None without a UID.

    The id is made of the moment at which it entered its queue and of its own UID, which distinguishes copy and
    original.
    """
    trace = workload_trace(workload)
    return SpanContext(trace, span_id(trace, "admission", workload.uid, queued_since(workload))) if trace else None
