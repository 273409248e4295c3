"""The simulation: objects are added, jobs end and time passes. After each event, cycles run until nothing changes."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from policies.dialects.reading import Manifest, listing, mapping, metadata
from policies.model.errors import PolicyError
from policies.model.objects import Ref
from scheduling.cycle.engine import AdmissionEngine
from scheduling.cycle.outcome import reserved, waiting
from scheduling.cycle.second_pass import after_second_pass, needs_second_pass, second_pass
from scheduling.objects import times
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.copying import replace
from scheduling.objects.queue_settings import LocalQueueSettings
from scheduling.objects.workload import EVICTED, CheckState, Workload
from scheduling.queue_tree.simulated import PlayedEvent
from scheduling.quota.node import QuotaNode
from scheduling.simulation.intake import KueueIntake
from scheduling.simulation.settings import SimulationSettings
from scheduling.simulation.submissions import LeftOut, Name, is_submission
from scheduling.simulation.trace import Admitted, Evicted, Finished, Loan, Preempted, Reserved, TraceEvent
from scheduling.status.checks import PENDING, READY, set_check
from scheduling.status.deadlines import pods_ready, release
from scheduling.status.eviction import preempt
from scheduling.status.lifecycle import Lifecycle, next_moment
from scheduling.status.progress import finish
from scheduling.visibility.places import admitted_pod_sets
from scheduling.world.decisions import Decision, Preempt, Reserve
from scheduling.world.world import World

START = times.parse("2026-01-01T00:00:00Z")
"""The start of a simulation whose objects have no times."""
_TICK = 1000
"""The nanoseconds between two cycles, so that earlier decisions have earlier times."""
_LEAST_CYCLES = 1000
_CYCLES_EACH = 20
"""After this many cycles for each workload, and _LEAST_CYCLES more, a simulation counts as never settling."""
_MOST_DEADLINES = 20_000
"""With more deadlines than this in one call of `at`, a simulation counts as never settling."""


def begin(manifests: Iterable[Manifest]) -> int:
    """The start of the simulation: the latest time in the objects, so that none is in the future."""
    return max(filter(None, map(_last, manifests)), default=START)


def _last(manifest: Manifest) -> int:
    conditions = map(mapping, listing(mapping(manifest.get("status")).get("conditions")))
    found = [metadata(manifest).get("creationTimestamp"), *(entry.get("lastTransitionTime") for entry in conditions)]
    return max(map(times.parse, found))


class UnknownWorkload(PolicyError):
    """An event names a job that does not exist, or several jobs have the name."""


class KueueSimulation:
    """A simulation.

    names: the names of jobs, by the key of their Workload.
    left_out: the objects that are in no queue, by name.
    check_states: the states of AdmissionChecks that events have set.
    not_ready: the workloads whose pods are not ready.
    unsettled: whether a run of cycles did not end and was stopped.
    """

    def __init__(
        self, settings: SimulationSettings | None = None, start: int = START, world: World | None = None
    ) -> None:
        """Start a simulation. `world`: existing objects; it must have the same settings."""
        self.settings = settings or SimulationSettings()
        self.start = self.now = start
        self.world = world or World(self.settings.options, self.settings.ordering, self.settings.counting)
        waiting = self.settings.waiting
        self.engine = AdmissionEngine(self.world, block_admission=waiting is not None and waiting.block_admission)
        places = self.settings.topologies if world is None else None
        self.intake = KueueIntake(self.world, self.settings.ordering.boosted, places, self.settings.requests)
        self.trace: list[TraceEvent] = []
        self.names: dict[str, Name] = {}
        self.left_out: dict[Name, LeftOut] = {}
        self.unsettled = False
        self.check_states: dict[str, str] = {}
        self.not_ready: set[str] = set()
        self._stopping: dict[str, None] = {}  # evicted workloads whose jobs still run
        self._deadlines: list[tuple[int, str]] = []  # a heap of moments and workloads
        for workload in self.world.workloads.values():
            self.names[workload.key] = Name.of(workload)
            self._follow(workload)

    # --- events

    def announce(self, event: str) -> None:
        self.trace.append(PlayedEvent(self.now, event))

    def add(self, manifests: Iterable[Manifest]) -> None:
        """Add or change objects, in any order, then settle."""
        self.change(manifests, ())
        self.settle()

    def change(self, manifests: Iterable[Manifest], deleted: Iterable[Ref]) -> None:
        """Add, change and delete objects at one moment, in any order. Cycles run when the caller calls `settle`."""
        self._tick()
        added, gone, submitted = [*manifests], [*deleted], list[str]()
        self.intake.put(added, self.now)
        self._delete(gone)
        for found in self.intake.submissions.look():
            if isinstance(found, LeftOut):
                self.left_out[found.name] = found
                continue
            name, workload = found
            self.left_out.pop(name, None)
            self._submit(name, workload)
            submitted.append(workload.key)
        only_work = not gone and all(map(is_submission, added))
        for key in submitted if only_work else [*self.world.workloads]:
            self._advance(key)

    def finish(self, called: str) -> None:
        """Finish the job `namespace/name` successfully, then settle. Raises UnknownWorkload."""
        key = self.key_of(called)
        self._tick()
        self._finish(self.world.workloads[key])
        self.settle()

    def at(self, moment: int) -> None:
        """Let time pass up to `moment`, which is not in the past. Deadlines until then take effect at their time."""
        for _ in range(_MOST_DEADLINES):
            if self.unsettled or not self._deadlines or self._deadlines[0][0] > moment:
                break
            due, key = heapq.heappop(self._deadlines)
            workload = self.world.workloads.get(key)
            if workload is None or next_moment(workload, self.settings.waiting) != due:
                continue
            self.now = max(self.now + _TICK, due)
            self._advance(key)
            self.settle()
        else:
            self.unsettled = True
        self.now = max(self.now, moment)
        self.settle()

    def check(self, name: str, state: str) -> None:
        """Set the state of the AdmissionCheck for every workload from now on, then settle."""
        self._tick()
        self.check_states[name] = state
        for key in [*self.world.workloads]:
            self._advance(key)
        self.settle()

    def lose_pods(self, called: str) -> None:
        """Make the pods of this job unready from now on, then settle. Raises UnknownWorkload."""
        key = self.key_of(called)
        self._tick()
        self.not_ready.add(key)
        self._advance(key)
        self.settle()

    def key_of(self, called: str) -> str:
        """The Workload with this name, or of the job with this name. Raises UnknownWorkload."""
        if called in self.world.workloads:
            return called
        found = [
            key
            for key, name in self.names.items()
            if (workload := self.world.workloads.get(key)) and called in (name.key, Name.of(workload).key)
        ]
        if len(found) == 1:
            return found[0]
        if found:
            raise UnknownWorkload(f"{len(found)} jobs are called {called}; name one Workload: {', '.join(found)}")
        if (left := self.left_out_of(called)) is not None:
            raise UnknownWorkload(f"{left.name} is in no queue: {left.reason}")
        raise UnknownWorkload(f"no workload or job is called {called}; write NAMESPACE/NAME of one in the input")

    def left_out_of(self, called: str) -> LeftOut | None:
        """The object `namespace/name` that is in no queue; None if there is none."""
        return next((left for left in self.left_out.values() if left.name.key == called), None)

    # --- cycles

    def settle(self) -> None:
        """Run cycles until there are no more decisions. Jobs of victims stop whenever a cycle decides nothing."""
        most = _LEAST_CYCLES + _CYCLES_EACH * len(self.world.workloads)
        for _ in range(most):
            self._tick()
            if not self._cycle() and not self._place() and not self._stop() and not self._drop_idle():
                return
        self.unsettled = True

    def _cycle(self) -> bool:
        """Run one cycle and write its decisions. Returns whether there were any."""
        decisions = self.engine.step(self.now)
        loans = self._loans([decision for decision in decisions if isinstance(decision, Reserve)])
        for decision in decisions:
            self._carry_out(decision, loans)
        return bool(decisions)

    def _carry_out(self, decision: Decision, loans: dict[str, tuple[Loan, ...]]) -> None:
        if isinstance(decision, Reserve):
            self._reserve(decision, loans[decision.workload.key])
        elif isinstance(decision, Preempt):
            target = decision.target
            self._write(preempt(self.world.workloads[target.key], target.reason, decision.message, self.now))
            waits_at = self.world.queues.queue_of(decision.preemptor) or ""
            self.trace.append(
                Preempted(
                    self.now,
                    target.key,
                    target.reservation.queue.name,
                    str(target.reason),
                    decision.message,
                    decision.preemptor.key,
                    waits_at,
                )
            )
        else:
            before = self.world.workloads[decision.workload.key]
            after = waiting(before, decision, self.now, self.settings.counting)
            if after is not before:
                self._write(after)

    def _reserve(self, decision: Reserve, loans: tuple[Loan, ...]) -> None:
        key, queue = decision.workload.key, self.world.state.queues[decision.queue]
        before = self.world.workloads[key]
        by_prefix = self.world.state.options.encode_by_prefix
        after = self._checked(reserved(before, decision, queue.settings, self.now, by_prefix=by_prefix))
        checks = tuple(check.name for check in after.checks if check.state != READY)
        pod_sets = admitted_pod_sets(after, self.world.state.fleet)
        self.trace.append(Reserved(self.now, key, queue.name, pod_sets, loans, admitted=not checks, checks=checks))
        self._write(after)
        self._advance(key)
        if after.replaces in self.world.workloads:
            self._advance(after.replaces)

    def _loans(self, decisions: list[Reserve]) -> dict[str, tuple[Loan, ...]]:
        """The amounts that each workload borrowed when it got quota.

        All are counted by now, so the last one is removed first.
        """
        tree, found = self.world.state.tree, {}
        with tree.simulation():
            for decision in reversed(decisions):
                node, usage = tree.queues[decision.queue], decision.assignment.usage
                loans = (_loan(node, pair, amount) for pair, amount in usage.items())
                found[decision.workload.key] = tuple(filter(None, loans))
                tree.remove(node, usage)
        return found

    def _place(self) -> bool:
        """Place pods with delayed places, and those of failed nodes. Returns whether anything changed."""
        found, by_prefix = False, self.world.state.options.encode_by_prefix
        for workload in [*self.world.workloads.values()] if self.world.state.fleet is not None else ():
            result = second_pass(self.world, workload) if needs_second_pass(workload) else None
            after = after_second_pass(result, self.now, by_prefix=by_prefix) if result is not None else workload
            if after != workload:
                found = True
                self._note(workload, after)
                self._write(after)
                self._advance(after.key)
        return found

    def _stop(self) -> bool:
        """Stop the jobs of evicted workloads, which frees their quota."""
        victims, self._stopping = self._stopping, {}
        for key in victims:
            self._write(release(self.world.workloads[key], self.now))
            self._advance(key)
        return bool(victims)

    def _drop_idle(self) -> bool:
        """Remove deleted ClusterQueues without workloads. Returns whether there were any."""
        idle = [name for name in sorted(self.world.terminating) if not self.world.state.queues[name].reservations]
        for name in idle:
            self.world.drop_queue(name, self.now)
        return bool(idle)

    # --- one workload

    def _finish(self, workload: Workload) -> None:
        if not workload.finished:
            self._write(finish(workload, "JobFinished", "Job finished successfully", self.now))
            self.trace.append(Finished(self.now, workload.key))

    def _delete(self, every: Sequence[Ref]) -> None:
        """Delete objects.

        A job is deleted with its Workload, and before its queue, which stays while it has workloads.
        """
        gone = {name for ref in every for name in self.intake.submissions.drop(ref)}
        for name in gone:
            self.left_out.pop(name, None)
        for key in [key for key, name in self.names.items() if name in gone]:
            self._stopping.pop(key, None)
            self.world.drop_workload(key)
        self.intake.drop(every, self.now)

    def _submit(self, name: Name, workload: Workload) -> None:
        before = self.world.workloads.get(workload.key)
        self.names[workload.key] = name
        if before is None:
            created = workload.created or self.now
            self._tick()
            self._write(replace(workload, created=created, uid=workload.uid or workload.key))
            return
        kept = {"reclaimable": workload.reclaimable, "base": workload.base, "boost": workload.boost}
        if not before.reserved:
            kept |= {"pod_sets": workload.pod_sets, "queue": workload.queue, "annotations": workload.annotations}
        self._write(
            replace(before, active=workload.active, maximum_seconds=workload.maximum_seconds, **kept)  # type: ignore[arg-type]
        )
        if workload.finished:
            self._finish(self.world.workloads[workload.key])

    def _advance(self, key: str) -> None:
        """Take all steps of the workload that follow from its spec, its queue, its checks and the time."""
        while True:
            workload = self.world.workloads[key]
            after = self._checked(self._lifecycle(workload).next(self._with_pods(workload)))
            if after == workload:
                return
            self._note(workload, after)
            self._write(after)

    def _lifecycle(self, workload: Workload) -> Lifecycle:
        world = self.world
        local: LocalQueueSettings | None = world.queues.local_queues.get(workload.local_queue)
        name = workload.admission.cluster_queue if workload.admission else local.cluster_queue if local else ""
        queue = world.state.queues.get(name)
        gated, settings = world.gated(workload), queue.settings if queue else None
        later = world.workloads.get(world.slices.successor(workload) or "")
        taken = later if later is not None and not later.evicted else None
        return Lifecycle(self.now, local, settings, None, self.settings.waiting, gated=gated, successor=taken)

    def _checked(self, workload: Workload) -> Workload:
        """Set the checks of the workload to Ready, or to the states that events have set."""
        if not workload.reserved or workload.evicted:
            return workload
        for check in workload.checks:
            state = self.check_states.get(check.name) or (READY if check.state == PENDING else check.state)
            if state != check.state:
                checks = set_check(workload.checks, CheckState(check.name, state), self.now)
                workload = replace(workload, checks=checks)
        return workload

    def _with_pods(self, workload: Workload) -> Workload:
        """Report the pods of the workload. They are ready at once, except for jobs that lost their pods."""
        if self.settings.waiting is None or workload.finished or (workload.evicted and workload.reserved):
            return workload
        return pods_ready(workload, workload.key not in self.not_ready, self.now)

    def _note(self, before: Workload, after: Workload) -> None:
        """Add an eviction or an admission to the trace."""
        queue = after.admission.cluster_queue if after.admission else ""
        evicted = after.holding(EVICTED)
        if evicted is not None and not before.evicted and before.reserved:
            self.trace.append(Evicted(self.now, after.key, queue, evicted.reason, evicted.message))
        elif after.admitted and not before.admitted and before.reserved and not self._just_reserved(after.key):
            self.trace.append(Admitted(self.now, after.key, queue))

    def _just_reserved(self, key: str) -> bool:
        return any(
            isinstance(last, Reserved) and last.workload == key and last.admitted and last.at == self.now
            for last in self.trace[-1:]
        )

    def _write(self, workload: Workload) -> None:
        self.world.put_workload(workload, self.now)
        self._follow(workload)

    def _follow(self, workload: Workload) -> None:
        """Schedule the next event of the workload: the stop of its job, or a deadline."""
        key = workload.key
        if workload.evicted and workload.reserved:
            self._stopping[key] = None
        due = next_moment(workload, self.settings.waiting) if not workload.finished else 0
        if due:
            heapq.heappush(self._deadlines, (due, key))

    def _tick(self) -> None:
        self.now += _TICK


def _loan(node: QuotaNode, pair: FlavorResource, amount: int) -> Loan | None:
    """The part of the last `amount` of the node's usage that is borrowed, and the lender; None if nothing is."""
    borrowed = min(amount, node.used(pair) - node.nominal(pair))
    return Loan(pair, borrowed, lender_of(node, pair)) if borrowed > 0 and node.up is not None else None


def lender_of(node: QuotaNode, pair: FlavorResource) -> str:
    """The lowest ancestor that does not borrow, or else the root."""
    above = node.path()[1:]
    return next((cohort for cohort in above if not cohort.borrows(pair)), above[-1]).name
