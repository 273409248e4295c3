"""What a decision makes of a workload: the status that is to be written.

Source: Kueue v0.19, pkg/scheduler (admit, requeue), pkg/workload.
"""

from __future__ import annotations

from scheduling.flavors.assignment import Assignment as Assigned
from scheduling.objects.queue_settings import QueueSettings
from scheduling.objects.requests import Counting, total_requests
from scheduling.objects.workload import Admission, Assignment, Workload
from scheduling.status.checks import checks_of, sync_checks
from scheduling.status.progress import with_resource_requests
from scheduling.status.reservation import reserve, sync_admitted, unreserve
from scheduling.world.decisions import Reserve, Wait

PENDING = "Pending"
"""The one reason that Kueue gives for waiting without its gate UnadmittedWorkloadsObservability."""


def admission_of(queue: str, assigned: Assigned) -> Admission:
    """status.admission of a workload that got these flavors."""
    return Admission(
        queue,
        tuple(
            Assignment(
                name=pod_set.name,
                flavors={resource: choice.flavor for resource, choice in pod_set.choices.items()},
                usage={resource: pod_set.requests[resource] for resource in pod_set.choices},
                count=pod_set.count,
            )
            for pod_set in assigned.pod_sets
        ),
    )


def reserved(
    workload: Workload, decision: Reserve, queue: QueueSettings, now: int, *, detailed: bool = True
) -> Workload:
    """The workload with its quota; admitted where no check is to be waited for.

    A check that it lists and need not pass goes later, when the list is brought in line with the ClusterQueue.
    """
    admission = admission_of(decision.queue, decision.assignment)
    listed = {check.name for check in workload.checks}
    held = sync_checks(reserve(workload, admission, now), listed | checks_of(admission, queue), now)
    return sync_admitted(held, now, detailed=detailed)


def waiting(workload: Workload, decision: Wait, now: int, counting: Counting, *, detailed: bool = True) -> Workload:
    """The workload with the reason for its waiting. `detailed`: see `sync_admitted`."""
    told = unreserve(workload, decision.reason if detailed else PENDING, decision.message, now, detailed=detailed)
    return with_resource_requests(told, total_requests(decision.workload, counting))
