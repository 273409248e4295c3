"""Writes into a workload that some pods of its job are done, or all.

Source: Kueue v0.19, pkg/workload (reclaimable pods, resource requests, finish).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from scheduling.objects.copying import replace
from scheduling.objects.requests import PodSetRequests
from scheduling.objects.workload import FINISHED, JOB_UID, SLICE_REPLACED, Workload
from scheduling.status.conditions import with_condition


def finish(workload: Workload, reason: str, message: str, now: int) -> Workload:
    """Finish the workload. If it is finished already, it keeps its reason."""
    return workload if workload.finished else with_condition(workload, FINISHED, "True", reason, message, now)


def replaced(workload: Workload, successor: Workload, now: int) -> Workload:
    """Finish a slice of an elastic job after the next one took over its quota. Its pods keep running."""
    message = (
        f"Replaced to accommodate a workload (UID: {successor.uid}, JobUID: {successor.labels.get(JOB_UID, '')}) "
        "due to workload slice aggregation"
    )
    return finish(workload, SLICE_REPLACED, message, now)


def with_reclaimable(workload: Workload, done: Mapping[str, int]) -> Workload:
    return workload if dict(workload.reclaimable) == dict(done) else replace(workload, reclaimable=dict(done))


def limited_to_sizes(workload: Workload, done: Mapping[str, int]) -> dict[str, int]:
    """Limit the numbers of done pods to the sizes of their pod sets, since an elastic job may shrink.

    Unknown sets stay.
    """
    sizes = workload.sizes
    return {name: min(count, sizes.get(name, count)) for name, count in done.items()}


def with_resource_requests(workload: Workload, requests: Iterable[PodSetRequests]) -> Workload:
    """Set status.resourceRequests, the requests of a workload without quota."""
    found = {entry.name: dict(entry.requests) for entry in requests}
    same = list(found.items()) == [(name, dict(amounts)) for name, amounts in workload.resource_requests.items()]
    return workload if same else replace(workload, resource_requests=found)
