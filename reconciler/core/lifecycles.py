"""What the next step of a Workload depends on, and which Workloads a change of a queue or a check concerns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from policies.dialects.kueue_checks import MULTIKUEUE
from scheduling.cycle.cycle import NAMESPACE_MISMATCH
from scheduling.objects.admissibility import misfit
from scheduling.objects.inadmissible_reasons import MISCONFIGURED, SUSPENDED
from scheduling.objects.workload import Workload
from scheduling.status.deadlines import WaitForPodsReady
from scheduling.status.lifecycle import Lifecycle
from scheduling.status.observability import LEGACY, Observability
from scheduling.status.unadmitted import BYPASSED, Cause
from scheduling.world.readiness import CYCLE
from scheduling.world.world import World


def lifecycle_of(
    world: World,
    workload: Workload,
    now: int,
    waiting: WaitForPodsReady | None,
    observability: Observability = LEGACY,
) -> Lifecycle:
    """What the next step of one Workload depends on, at this moment."""
    local = world.queues.local_queues.get(f"{workload.namespace}/{workload.queue}")
    name = workload.admission.cluster_queue if workload.admission else local.cluster_queue if local else ""
    queue = world.state.queues.get(name)
    elsewhere = {check.name for check in world.checks.values() if check.controller == MULTIKUEUE}
    made = Lifecycle(now, local, queue.settings if queue else None, None, waiting, elsewhere, observability)
    if workload.reserved:
        return made
    blocked = _fault(world, workload, name)
    if blocked is not None or not observability.granular:
        return replace(made, blocked=blocked)
    return replace(made, blocked=_misconfigured(world, workload, name), bypassed=_bypassed(world, workload, name))


def _fault(world: World, workload: Workload, name: str) -> Cause | None:
    """Why no queue takes the workload. Of a cycle of cohorts the message names the way; Kueue knows no such fault."""
    blocker = world.queues.blocker(workload)
    if blocker is not None:
        return Cause(blocker.reason, blocker.message)
    inactive = world.state.queues[name].inactive
    if not inactive:
        return None
    cycle = world.can_admit(name).reason == CYCLE
    return Cause(SUSPENDED, inactive if cycle else f"ClusterQueue {name} is inactive")


def _misconfigured(world: World, workload: Workload, name: str) -> Cause | None:
    """Why an attempt would end before it looks for flavors."""
    entry = world.queues.pending[name].get(workload.key)
    if entry is None or workload.namespace not in world.queues.namespaces:
        return None
    if not world.queues.serves(name)(workload.namespace):
        return Cause(MISCONFIGURED, NAMESPACE_MISMATCH)
    wrong = misfit(entry.workload, world.around(workload.namespace))
    return Cause(MISCONFIGURED, wrong) if wrong else None


def _bypassed(world: World, workload: Workload, name: str) -> Cause | None:
    """It was set aside without an attempt of its own, together with one that is alike."""
    wait = world.last_attempt(workload.key) if world.queues.pending[name].is_blocked(workload.key) else None
    if wait is None or wait.workload.key == workload.key:
        return None
    return Cause(wait.reason, BYPASSED)


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
