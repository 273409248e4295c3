"""What the next step of a Workload depends on, and which Workloads a change of a queue or a check concerns."""

from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue_checks import MULTIKUEUE
from scheduling.objects.workload import Workload
from scheduling.status.deadlines import WaitForPodsReady
from scheduling.status.lifecycle import Lifecycle
from scheduling.world.readiness import CYCLE
from scheduling.world.world import World


def lifecycle_of(world: World, workload: Workload, now: int, waiting: WaitForPodsReady | None) -> Lifecycle:
    """What the next step of one Workload depends on, at this moment."""
    local = world.queues.local_queues.get(f"{workload.namespace}/{workload.queue}")
    name = workload.admission.cluster_queue if workload.admission else local.cluster_queue if local else ""
    queue = world.state.queues.get(name)
    blocker = world.queues.blocker(workload)
    blocked = (blocker.reason, blocker.message) if blocker else None
    if blocked is None and queue is not None and queue.inactive:
        cycle = world.can_admit(name).reason == CYCLE
        blocked = (CYCLE, queue.inactive) if cycle else ("Suspended", f"ClusterQueue {name} is inactive")
    elsewhere = {check.name for check in world.checks.values() if check.controller == MULTIKUEUE}
    return Lifecycle(now, local, queue.settings if queue else None, blocked, waiting, elsewhere=elsewhere)


def concerned(world: World, kind: str, name: str) -> Iterator[Workload]:
    """The Workloads that a change of this object concerns, and of what else was judged again since."""
    queues, world.readiness_changed = world.readiness_changed, set()
    if kind == "LocalQueue":
        yield from world.workloads_of(name)
    elif kind == "ClusterQueue":
        queues.add(name)
    elif kind == "AdmissionCheck":
        queues.update(world.queues_with_check(name))
    for queue_name in queues:
        held = world.state.queues.get(queue_name)
        yield from [each.workload for each in held.reservations.values()] if held is not None else ()
        for local in world.queues.local_queues_of(queue_name):
            yield from world.queues.waiting_at(local)
