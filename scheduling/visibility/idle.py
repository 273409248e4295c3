"""Whether a workload fits an idle tree, so that it helps to wait."""

from __future__ import annotations

from collections.abc import Sequence

from scheduling.flavors.assigner import assign
from scheduling.flavors.modes import FlavorOutcome
from scheduling.flavors.scan_progress import Progress, progress_of
from scheduling.objects.requests import PodSetRequests
from scheduling.objects.workload import Workload
from scheduling.quota.state import ClusterQueueState, QuotaState


def fits_idle(
    state: QuotaState, queue: ClusterQueueState, workload: Workload, requests: Sequence[PodSetRequests]
) -> bool:
    """Whether the workload would get quota if nothing were in use. As in cycles, each search continues the last one."""
    resume: Progress | None = None
    with state.tree.simulation():
        for node in queue.node.path():
            state.tree.remove(node, {**node.usage})
        while resume is None or resume.pending:
            found = assign(state, queue, workload, resume=resume, requests=requests)
            if found.outcome == FlavorOutcome.FIT:
                return True
            resume = progress_of(found, last=resume)
    return False
