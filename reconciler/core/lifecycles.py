"""The inputs of a Workload's next step, and the Workloads that are affected when a queue or a check changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from policies.dialects.kueue_checks import MULTIKUEUE
from reconciler.core.records import Records
from scheduling.cycle.misconfigured import misconfigured
from scheduling.objects.admissibility import adjusted
from scheduling.objects.inadmissible_reasons import MISCONFIGURED, SUSPENDED
from scheduling.objects.workload import DEACTIVATED, QUOTA_RESERVED, Workload
from scheduling.status.deadlines import WaitForPodsReady
from scheduling.status.lifecycle import Lifecycle
from scheduling.status.observability import LEGACY, Observability
from scheduling.status.unadmitted import BYPASSED, UnadmittedCause
from scheduling.world.readiness import CYCLE
from scheduling.world.world import World


def lifecycle_of(
    world: World,
    workload: Workload,
    now: int,
    waiting: WaitForPodsReady | None,
    observability: Observability = LEGACY,
    successor: Workload | None = None,
) -> Lifecycle:
    """The inputs of the next step of one Workload. `successor`: see `Lifecycle`."""
    local = world.queues.local_queues.get(workload.local_queue)
    # A stopped LocalQueue counts as having no ClusterQueue, so nothing is read from one.
    name = workload.admission.cluster_queue if workload.admission else world.queues.queue_of(workload) or ""
    queue = world.state.queues.get(name)
    elsewhere = {check.name for check in world.checks.values() if check.controller == MULTIKUEUE}
    made = Lifecycle(
        now,
        local,
        queue.settings if queue else None,
        None,
        waiting,
        elsewhere,
        observability,
        mirrors_gates=world.state.options.gated_preemption,
        local_gone=local is None,
        queue_gone=queue is None or name in world.terminating,
        gated=world.gated(workload),
        successor=successor,
        outgrown=world.outgrown(workload.key),
    )
    if workload.reserved:
        return made
    blocker, waits_at = world.queues.blocker(workload), world.queues.queue_of(workload)
    if blocker is not None or waits_at is None:
        if blocker is None:
            return made
        cause = UnadmittedCause(blocker.reason, blocker.message)
        return replace(made, blocked=cause, inadmissible=blocker.inadmissible)
    inactive = _inactive(world, waits_at)
    if inactive is not None or not observability.granular:
        return replace(made, blocked=inactive)
    return replace(
        made, blocked=_misconfigured(world, workload, waits_at), bypassed=_bypassed(world, workload, waits_at)
    )


def _inactive(world: World, queue: str) -> UnadmittedCause | None:
    """The reason why a queue is inactive. For a cycle of Cohorts, which Kueue does not report, it has the path."""
    inactive = world.state.queues[queue].inactive
    if not inactive:
        return None
    cycle = world.can_admit(queue).reason == CYCLE
    return UnadmittedCause(SUSPENDED, inactive if cycle else f"ClusterQueue {queue} is inactive")


def _misconfigured(world: World, workload: Workload, queue: str) -> UnadmittedCause | None:
    """The misconfiguration that a scheduling attempt would find. A workload behind an admission gate is not in the
    queue, so it is completed with its defaults here.
    """
    entry = world.queues.pending[queue].get(workload.key)
    if entry is None and not world.gated(workload):
        return None
    complete = entry.workload if entry is not None else adjusted(workload, world.around(workload.namespace))
    wrong = misconfigured(world, queue, complete)
    return UnadmittedCause(MISCONFIGURED, wrong.message) if wrong is not None else None


def _bypassed(world: World, workload: Workload, queue: str) -> UnadmittedCause | None:
    """The cause, if the Workload was not tried itself, but set aside together with an equivalent one.

    A Workload that was deactivated and activated again is not tried before something changes. Its condition no longer
    shows its last attempt, so that attempt counts here too.
    """
    blocked = world.queues.pending[queue].is_blocked(workload.key)
    wait = world.last_attempt(workload.key, any_names=True) if blocked else None
    shown = workload.conditions.get(QUOTA_RESERVED)
    reactivated = shown is not None and shown.reason == DEACTIVATED
    if wait is None or (wait.workload.key == workload.key and not reactivated):
        return None
    return UnadmittedCause(wait.reason, BYPASSED)


def successor_of(world: World, records: Records, workload: Workload) -> Workload | None:
    """The stored slice that has taken over this one's quota. A take-over that is not stored may still fail."""
    later = world.slices.successor(workload)
    found = records.workload(later) if later is not None else None
    stored = found.value if found is not None else None
    taken = stored is not None and stored.counts and not stored.evicted and stored.takes_over_from(workload)
    return stored if taken else None


def affected_workloads(world: World, kind: str, name: str) -> Iterator[Workload]:
    """The Workloads that a change of this object affects, and those of the queues in `world.readiness_changed`, which
    is emptied.
    """
    queues, world.readiness_changed = world.readiness_changed, set()
    if kind == "LocalQueue":
        yield from world.workloads_of(name)
        yield from world.queues.kept_out_at(name)
    elif kind == "ClusterQueue":
        queues.add(name)
    elif kind == "AdmissionCheck":
        queues.update(world.queues_with_check(name))
    elif kind == "Namespace":
        for each in world.queues.local_queues_in(name):
            yield from world.queues.kept_out_at(each.key)
    for queue_name in queues:
        yield from world.workloads_in(queue_name)
        for local in world.queues.local_queues_of(queue_name):
            yield from world.queues.waiting_at(local)
            yield from world.queues.kept_out_at(local)
