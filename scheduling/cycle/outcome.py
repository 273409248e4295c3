"""The status of a workload after a decision.

Source: Kueue v0.19, pkg/scheduler (admit, requeue), pkg/workload.
"""

from __future__ import annotations

from typing import Any

from scheduling.flavors.assignment import FlavorAssignment
from scheduling.objects.inadmissible_reasons import WAITING_FOR_PODS_READY
from scheduling.objects.queue_settings import ClusterQueueSettings
from scheduling.objects.requests import Counting, total_requests
from scheduling.objects.workload import BLOCKED_ON_GATES, Admission, PodSetAdmission, Workload
from scheduling.queues.pending import Requeue
from scheduling.status.checks import checks_of, sync_checks
from scheduling.status.conditions import with_condition
from scheduling.status.observability import LEGACY, Observability
from scheduling.status.progress import with_resource_requests
from scheduling.status.reservation import reserve, sync_admitted, unreserve
from scheduling.topology.assignment import TopologyAssignment
from scheduling.topology.encoding import written_topology_assignment
from scheduling.world.decisions import Reserve, Wait


def admission_of(queue: str, assigned: FlavorAssignment, *, by_prefix: bool = True) -> Admission:
    """status.admission of a workload with these flavors. `by_prefix`: see `written_topology_assignment`."""
    return Admission(
        queue,
        tuple(
            PodSetAdmission(
                name=pod_set.name,
                flavors=pod_set.flavors,
                usage={name: pod_set.requests[name] for name in pod_set.choices if name in pod_set.requests},
                count=pod_set.count,
                topology=_written(pod_set.places, by_prefix),
                delayed="Pending" if pod_set.delayed else "",
            )
            for pod_set in assigned.pod_sets
        ),
    )


def _written(places: TopologyAssignment | None, by_prefix: bool) -> dict[str, Any] | None:
    return written_topology_assignment(places, by_prefix=by_prefix) if places is not None else None


def reserved(
    workload: Workload,
    decision: Reserve,
    queue: ClusterQueueSettings,
    now: int,
    observability: Observability = LEGACY,
    *,
    by_prefix: bool = True,
) -> Workload:
    """The workload with its quota. It is admitted if it has no admission checks to wait for.

    Listed checks that it does not need stay here; `Lifecycle` removes them. `by_prefix`: see `admission_of`.
    """
    admission = admission_of(decision.queue, decision.assignment, by_prefix=by_prefix)
    listed = {check.name for check in workload.checks}
    held = sync_checks(reserve(workload, admission, now), listed | checks_of(admission, queue), now)
    return sync_admitted(held, now, observability)


def waiting(
    workload: Workload, decision: Wait, now: int, counting: Counting, observability: Observability = LEGACY
) -> Workload:
    """The workload with the reason why it waits, and the requests of its pods, unless the quota suffices for them."""
    reason = observability.attempt(decision.reason)
    unreserved = unreserve(workload, reason, decision.message, now, observability)
    if decision.requeue == Requeue.PREEMPTION_GATED:
        unreserved = with_condition(unreserved, BLOCKED_ON_GATES, "True", decision.requeue, decision.message, now)
    if decision.reason == WAITING_FOR_PODS_READY:
        return unreserved
    return with_resource_requests(unreserved, total_requests(decision.workload, counting))
