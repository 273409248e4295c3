"""Compares the decisions of another queue controller with those of Quotree's engine.

After each change our engine decides on the stored world. The other controller is expected to make the same decisions
within `patience`: to give a Workload quota, or to evict a victim. If it makes another decision, our engine decides
again on the world just before that, without the earlier expectations.

Both controllers watch the same changes, but not at the same time. So a comparison counts as unsure if another object in
the same tree changed shortly before it, or if quotas changed shortly after it. If quotas change, our engine decides
again, and only its new decisions are expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from reconciler.objects.observed import Observed
from reconciler.objects.watched import WORKLOAD_VIEW
from reconciler.observer.differences import PATIENCE, ComparisonResult, DecisionDifference, DifferenceKind, Report
from reconciler.observer.observer import Observer
from scheduling.cycle.engine import AdmissionEngine
from scheduling.cycle.outcome import admission_of
from scheduling.objects.requests import total_requests, usage
from scheduling.objects.workload import EVICTED, PREEMPTED, Admission, Workload
from scheduling.world.decisions import Preempt, Reserve
from scheduling.world.world import World

_SURROUNDINGS = (
    *("ResourceFlavor", "AdmissionCheck", "Cohort", "ClusterQueue", "Namespace", "LocalQueue"),
    *("LimitRange", "RuntimeClass", "DeviceClass", "ResourceClaimTemplate"),
)
"""The kinds that both controllers use for decisions, and may observe at different times."""
_CYCLES = 100
"""The most cycles after one change. Further decisions are made after the next change."""


class _Suspected(NamedTuple):
    """A difference to report at `until`, unless a quota changes before that."""

    until: int
    difference: DecisionDifference


class Comparison(Observer):
    """An observer of the core.

    `report`: called with the result of each comparison.
    `known`: returns whether all objects have been listed. Before that nothing is compared.
    `patience`: how long the other controller may take, in nanoseconds.

    Private state:
    `_reported`: the workloads whose missing decision was reported.
    `_suspected`: the differences that are not confirmed yet.
    `_recent_changes`: when each workload of a tree changed last, by root.
    `_inputs_changed`: when quotas or other inputs of decisions changed last.
    `_outdated_roots`: the trees whose expectations have to be withdrawn.
    `_forgotten`: when old state was forgotten last.
    """

    def __init__(self, world: World, report: Report, known: Callable[[], bool], patience: int = PATIENCE) -> None:
        self._world = world
        self._expected = Expectations(world)
        self._report = report
        self._known = known
        self._patience = patience
        self._forgotten = 0
        self._reported: set[str] = set()
        self._suspected: list[_Suspected] = []
        self._recent_changes: dict[str, dict[str, int]] = {}
        self._inputs_changed = 0
        self._outdated_roots: set[str] = set()
        self._change: tuple[Workload | None, Workload | None] | None = None

    # --- calls of the core

    def changing(self, before: Observed[object] | None, after: Observed[object], now: int) -> None:
        if after.key[0] != WORKLOAD_VIEW.kind:
            if after.key[0] in _SURROUNDINGS and (before is None or before.value != after.value):
                self._inputs_changed = now
                self._outdated_roots |= {each.root for _, each in self._expected.all()}
            return
        old, new = WORKLOAD_VIEW.value(before), WORKLOAD_VIEW.value(after)
        self._change = (old, new)
        if not self._known() or old is None or new is None:
            return
        if new.reserved and not old.reserved and new.admission is not None:
            self._reserved_by_other(new, new.admission, now)
        elif new.holds(EVICTED) and not old.holds(EVICTED) and new.conditions[EVICTED].reason == PREEMPTED:
            self._evicted_by_other(new, now)

    def changed(self, now: int) -> None:
        (old, new), self._change = self._change or (None, None), None
        for workload in (old, new):
            if workload is not None:
                self._follow(workload, old, new, now)
        self._decide_anew(self._outdated_roots, now)
        self._outdated_roots.clear()

    def passed(self, now: int, _seconds: float = 0.0, /) -> None:
        """Report expectations that were not fulfilled in time, and suspected differences that are confirmed now."""
        self._report_missed(now)
        due = [each for each in self._suspected if each.until <= now]
        self._suspected = [each for each in self._suspected if each.until > now]
        for each in due:
            if self._inputs_changed > each.until - self._patience:
                self._report(ComparisonResult.UNSURE, None)
            else:
                self._report(ComparisonResult.DIFFERENT, each.difference)
        if now - self._forgotten > self._patience:
            self._expected.forget_withdrawn(self._forgotten)
            self._forgotten = now
            for root in [*self._recent_changes]:
                self._changes_in(root, now)

    # --- what we expect

    def _follow(self, workload: Workload, old: Workload | None, new: Workload | None, now: int) -> None:
        """Process a change of a workload: which expectations it fulfils, and which trees it affects."""
        if _moves(old, new):
            self._recent_changes.setdefault(self._expected.root_of(workload), {})[workload.key] = now
        if new is None or not new.queueable:
            self._expected.reserved.pop(workload.key, None)
            self._outdated_roots |= {
                each.root for each in self._expected.victims.values() if _is_for(each.decision, workload.key)
            }
        if new is None or new.evicted or not new.counts:
            self._expected.victims.pop(workload.key, None)
        if new is None or old is None or new.reserved != old.reserved:
            self._reported.discard(workload.key)

    def _decide_anew(self, outdated: set[str], now: int) -> None:
        """Withdraw the expectations in these trees, and decide again."""
        for root in outdated:
            self._expected.withdraw(root, now)
        if self._known():
            self._expected.decide(now)

    def _report_missed(self, now: int) -> None:
        """Report each expectation that was not fulfilled in time, once. Then our engine decides again."""
        roots = set()
        for name, expected in [*self._expected.all()]:
            if name not in self._reported and now - expected.since > self._patience < now - self._inputs_changed:
                self._reported.add(name)
                self._report(ComparisonResult.DIFFERENT, _missing(name, expected))
                roots.add(expected.root)
        if roots:
            self._decide_anew(roots, now)

    # --- decisions of the other controller

    def _reserved_by_other(self, workload: Workload, admission: Admission, now: int) -> None:
        name, root = workload.key, self._expected.root_of(workload)
        expected = self._expected.reserved.pop(name, None)
        if expected is None:
            self._expected.withdraw(root, now)
            self._outdated_roots.add(root)
            if lacking := self._lacking(workload, admission):
                self._suspect(DifferenceKind.OVER_ADMITTED, workload, lacking, now)
                return
            self._expected.decide(now)
            expected = self._expected.reserved.pop(name, None) or self._expected.pop_withdrawn(name)
        if expected is None or not isinstance(expected.decision, Reserve):
            others = sorted(key for key, each in self._expected.reserved.items() if each.root == root)
            first = f"ours admits {', '.join(others[:5]) or 'no workload'}"
            self._suspect(DifferenceKind.OUT_OF_ORDER, workload, first, now, alone=True)
            return
        ours = admission_of(expected.decision.queue, expected.decision.assignment)
        if _flavors(ours) == _flavors(admission):
            self._report(ComparisonResult.SAME, None)
        else:
            self._suspect(DifferenceKind.OTHER_FLAVORS, workload, f"ours chose {_flavors(ours)}", now, alone=True)

    def _evicted_by_other(self, workload: Workload, now: int) -> None:
        name, root = workload.key, self._expected.root_of(workload)
        if name not in self._expected.victims:
            self._expected.withdraw(root, now)
            self._outdated_roots.add(root)
            self._expected.decide(now)
        expected = self._expected.victims.pop(name, None) or self._expected.pop_withdrawn(name)
        if expected is not None and isinstance(expected.decision, Preempt):
            self._report(ComparisonResult.SAME, None)
            return
        victims = ", ".join(sorted(key for key, each in self._expected.victims.items() if each.root == root))
        ours = f"ours preempts {victims or 'no workload'}"
        self._suspect(DifferenceKind.OTHER_VICTIM, workload, ours, now, alone=True)

    def _lacking(self, workload: Workload, admission: Admission) -> str:
        """The resources that its quota is short of, as a sentence; empty if it fits."""
        node = self._world.state.tree.queues.get(admission.cluster_queue)
        if node is None:
            return f"ClusterQueue {admission.cluster_queue} is not known"
        used = usage(total_requests(workload, self._world.counting))
        lacking = [f"{pair.resource} of {pair.flavor}" for pair, amount in used.items() if amount > node.free(pair)]
        return f"there is not enough {', '.join(lacking)}" if lacking else ""

    def _suspect(self, kind: DifferenceKind, workload: Workload, ours: str, now: int, *, alone: bool = False) -> None:
        """Suspect a difference. `alone`: it is unsure if another object in the tree changed shortly before."""
        moved = self._changes_in(self._expected.root_of(workload), now)
        if now - self._inputs_changed <= self._patience or (alone and moved.keys() - {workload.key}):
            self._report(ComparisonResult.UNSURE, None)
            return
        wait = self._world.last_attempt(workload.key) if workload.key in self._world.workloads else None
        theirs = "evicted" if kind == DifferenceKind.OTHER_VICTIM else f"admitted with {_flavors(workload.admission)}"
        difference = DecisionDifference(kind, workload.key, theirs, ours, wait.message if wait is not None else "")
        self._suspected.append(_Suspected(now + self._patience, difference))

    def _changes_in(self, root: str, now: int) -> dict[str, int]:
        """The recent changes in the tree. Older ones are forgotten."""
        moved = {key: at for key, at in self._recent_changes.pop(root, {}).items() if now - at <= self._patience}
        if moved:
            self._recent_changes[root] = moved
        return moved


def _moves(old: Workload | None, new: Workload | None) -> bool:
    """Whether the change may affect other decisions. Quota that the other controller reserves does not."""
    if old is None or new is None:
        return True
    if new.counts:
        return old.counts and new.leaves_more_room_than(old)
    kept = [(each.queueable, each.queue, each.priority, each.requeue, each.generation) for each in (old, new)]
    return old.counts or kept[0] != kept[1]


def _is_for(decision: Reserve | Preempt, name: str) -> bool:
    return isinstance(decision, Preempt) and decision.preemptor.key == name


def _flavors(admission: Admission | None) -> str:
    """The flavors by pod set and resource, in the form that is compared and reported."""
    sets = [
        f"{each.name}({'all' if each.count is None else each.count}): "
        + ", ".join(f"{resource}={flavor}" for resource, flavor in sorted(each.flavors.items()))
        for each in (admission.assignments if admission is not None else ())
    ]
    return f"{admission.cluster_queue}: {'; '.join(sets)}" if admission is not None else "nothing"


def _missing(name: str, expected: ExpectedDecision) -> DecisionDifference:
    decision = expected.decision
    if isinstance(decision, Reserve):
        ours = f"ours admits it with {_flavors(admission_of(decision.queue, decision.assignment))}"
        return DecisionDifference(
            DifferenceKind.NOT_ADMITTED, name, "it waits", ours, "there is room for it and it is its turn"
        )
    ours = f"ours preempts it for {decision.preemptor.key}"
    return DecisionDifference(DifferenceKind.NOT_EVICTED, name, "it keeps running", ours, decision.message)


@dataclass(slots=True)
class ExpectedDecision:
    """A decision that the other controller is expected to make.

    `root`: the root of the tree.
    `since`: when it was first expected.
    `withdrawn`: when it stopped being expected; None if it is still expected.
    """

    decision: Reserve | Preempt
    root: str
    since: int
    withdrawn: int | None = None


class Expectations:
    """The decisions of our engine that the other controller is expected to make as well.

    Our engine has put them into the world, as if they had been stored.

    `reserved`, `victims`: the workloads that should get quota, and those that should be evicted, by key.
    """

    def __init__(self, world: World) -> None:
        self.reserved: dict[str, ExpectedDecision] = {}
        self.victims: dict[str, ExpectedDecision] = {}
        self._withdrawn: dict[str, ExpectedDecision] = {}
        self._world = world
        self._engine = AdmissionEngine(world)

    def all(self) -> Iterator[tuple[str, ExpectedDecision]]:
        yield from self.reserved.items()
        yield from self.victims.items()

    def decide(self, now: int) -> None:
        """Let our engine decide, and expect the other controller to make the same decisions."""
        for _ in range(_CYCLES):
            decisions = self._engine.step(now)
            if not decisions:
                return
            for decision in decisions:
                if isinstance(decision, Reserve):
                    self._expect(self.reserved, decision.workload, decision, now)
                elif isinstance(decision, Preempt):
                    self._expect(self.victims, decision.target.reservation.workload, decision, now)

    def _expect(
        self, expected: dict[str, ExpectedDecision], workload: Workload, decision: Reserve | Preempt, now: int
    ) -> None:
        earlier = expected.get(workload.key) or self.pop_withdrawn(workload.key)
        since = earlier.since if earlier is not None and earlier.withdrawn in (None, now) else now
        expected[workload.key] = ExpectedDecision(decision, self.root_of(workload), since)

    def withdraw(self, root: str, now: int) -> None:
        """Withdraw the expectations in this tree, so that its world equals the stored objects again."""
        for decided in (self.reserved, self.victims):
            for name in [name for name, each in decided.items() if each.root == root]:
                expected = self._withdrawn[name] = decided.pop(name)
                expected.withdrawn = now
                if isinstance(expected.decision, Reserve):
                    self._world.forget(name, now)
                elif (stays := self._world.workloads.get(name)) is not None and stays.evicted:
                    self._world.put_workload(expected.decision.target.reservation.workload, now)

    def pop_withdrawn(self, name: str) -> ExpectedDecision | None:
        """The decision about the workload that was withdrawn shortly before, if there is one."""
        return self._withdrawn.pop(name, None)

    def forget_withdrawn(self, until: int) -> None:
        """Forget what was withdrawn up to this moment."""
        self._withdrawn = {name: each for name, each in self._withdrawn.items() if (each.withdrawn or 0) > until}

    def root_of(self, workload: Workload) -> str:
        """The root of the workload's tree; empty if there is no ClusterQueue."""
        local = self._world.queues.local_queues.get(workload.local_queue)
        name = workload.admission.cluster_queue if workload.admission else local.cluster_queue if local else ""
        node = self._world.state.tree.queues.get(name)
        return str(node.root) if node is not None else ""
