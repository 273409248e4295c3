"""Decides which Pods of applications run, one Pod at a time, as YuniKorn's core does, but without nodes.

A leaf in which no ask fits is skipped until quota is released, so a decision does not try all asks again.
Source: YuniKorn core, `pkg/scheduler`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from policies.dialects.yunikorn_config.resources import YuniKornAmounts, times
from policies.dialects.yunikorn_gangs import by_name, together
from scheduling.yunikorn.application import Application, ApplicationState, Ask
from scheduling.yunikorn.preemptors import ANYWHERE, Preemptors
from scheduling.yunikorn.queue import QueueLack, YuniKornQueue
from scheduling.yunikorn.ready import AskShape, LeafWork, ReadyChildren
from scheduling.yunikorn.tree import ApplicationTree
from scheduling.yunikorn.user_limits import UserLimits
from scheduling.yunikorn.victims import LeafApplications, Victim, barriers, victims

_NO_POD = Ask("", {})


@dataclass(frozen=True, slots=True)
class Allocated:
    """The decision that an ask runs as soon as its victims have ended."""

    application: Application
    ask: Ask
    victims: tuple[Victim, ...] = ()


class Scheduler:
    """The state of YuniKorn's scheduler, and its decisions.

    preempts: whether the partition has preemption switched on.
    applications: by id. work: by leaf. owners: the application of each Pod, by the key of the Pod.
    """

    def __init__(self, tree: ApplicationTree, *, preempts: bool = True) -> None:
        self.tree = tree
        self.preempts = preempts
        self.applications: dict[str, Application] = {}
        self.owners: dict[str, Application] = {}
        self.limits = UserLimits()
        self.work = LeafApplications()
        self.preemptors = Preemptors(tree)
        self._ready = ReadyChildren()
        self._waiting: dict[YuniKornQueue, LeafWork] = {}  # the waiting asks of each leaf
        self._closed: set[YuniKornQueue] = set()  # leaves without a fitting ask, until a release

    # --- events

    def submit(self, application: Application, originator: Ask = _NO_POD, *, runs: bool = False) -> None:
        """Add an application that has no asks yet.

        `originator`: the ask of the Pod that submits it. Placeholders get its PriorityClass.
        `runs`: its gang was allocated before, so it gets no placeholders.
        """
        application.gang = by_name(application.gang)
        self.applications[application.name] = application
        self.work.setdefault(application.leaf, {})[application.name] = application
        self.limits.add(application)
        self.changed(application.leaf)
        if application.gang and runs:
            application.placeholders = Counter()
        elif application.gang:
            self._wait(application, _gang_ask(application, originator))

    def add(self, application: Application, ask: Ask) -> None:
        """Add a waiting Pod."""
        self._add_owner(application, ask)
        if application.gang and application.placeholders is None:
            application.kept[ask.key] = ask
        else:
            self._join(application, ask)

    def add_running(self, application: Application, ask: Ask) -> None:
        """Add a running Pod. It counts even if it does not fit."""
        self._add_owner(application, ask)
        self._count_running(application, ask)

    def bind(self, key: str) -> None:
        """Count a waiting Pod as running, since it got a node without a decision here. Raises KeyError if unknown."""
        application = self.owners[key]
        ask = application.kept.pop(key, None) or application.pending.get(key)
        if ask is None:
            return
        if key in application.pending:
            self._give_up(application, ask)
        self._count_running(application, ask)

    def _add_owner(self, application: Application, ask: Ask) -> None:
        self.owners[ask.key] = application
        application.pods += 1
        if application.first is None:
            application.first = ask.key

    def remove(self, key: str) -> None:
        """Remove a Pod. The last Pod of an application ends it. Raises KeyError for an unknown Pod."""
        application = self.owners.pop(key)
        if key in application.kept:
            del application.kept[key]
        elif key in application.pending:
            self._give_up(application, application.pending[key])
        else:
            self._release(application, key)
        application.pods -= 1
        if not application.pods:
            self._end(application)

    def adopt(self, application: Application, keys: Iterable[str]) -> None:
        """Take over an application of another scheduler, with its allocations and waiting asks. `keys`: its Pods."""
        leaf = application.leaf = self.tree.adopt(application.leaf)
        self.applications[application.name] = application
        self.work.setdefault(leaf, {})[application.name] = application
        self.owners.update(dict.fromkeys(keys, application))
        leaf.hold(application.allocated)
        self.limits.add(application)
        self.preemptors.waits(leaf)
        for ask in application.pending.values():
            leaf.wait(ask.amounts, 1)
            self._waiting_in(leaf).wait(application, ask)
        if application.state is ApplicationState.RUNNING:
            leaf.run(1)
            self.limits.run(application, 1)
        self._refresh(application)

    def changed(self, queue: YuniKornQueue) -> None:
        """Try again after a change of the queue's limits: the leaf, or all leaves if it is a parent."""
        if queue.is_leaf:
            self._closed.discard(queue)
            self._waiting_in(queue).place_all()
        else:
            self._closed.clear()
        self._ready.refresh(queue)
        self.preemptors.changed(queue)

    # --- decisions

    def step(self, now: int) -> Allocated | None:
        """Make one decision and carry it out. Returns None if nothing can run."""
        return self._fitting() or (self._preempting(now) if self.preempts else None)

    def lacks(self, application: Application, ask: Ask) -> list[QueueLack]:
        """The shortages of the ask, from its leaf up. Limits of users and groups come last."""
        found = [lack for queue in application.leaf.up() for lack in queue.lacks(ask.amounts)]
        return [*found, *self.limits.lacks(application, ask.amounts)]

    def may_run(self, application: Application) -> bool:
        """Whether the limits on the number of applications allow it. A running application may always run."""
        if application.state is ApplicationState.RUNNING:
            return True
        return application.leaf.full() is None and self.limits.full(application) is None

    def _fitting(self) -> Allocated | None:
        for leaf in self._ready.leaves(self.tree.root, self._closed):
            if (found := self._first(leaf)) is not None:
                self._allocate(*found)
                return Allocated(*found)
            self._closed.add(leaf)
        return None

    def fitting(self) -> Iterator[tuple[Application, Ask]]:
        """Yield the next ask of each leaf where one fits. Nothing is carried out."""
        for leaf in self._ready.leaves(self.tree.root, self._closed):
            if (found := self._first(leaf)) is not None:
                yield found

    def _first(self, leaf: YuniKornQueue) -> tuple[Application, Ask] | None:
        for application, ask in self._fitting_asks(leaf):
            if not any(True for _ in self.limits.lacks(application, ask.amounts)):
                return application, ask
        return None

    def _fitting_asks(self, leaf: YuniKornQueue) -> Iterator[tuple[Application, Ask]]:
        """Yield the asks that fit into the queues, in order. Limits of users are not checked."""
        work, path = self._waiting[leaf], list(leaf.up())
        misfits: set[AskShape] = set()
        for application in work.applications:
            if not self.may_run(application):
                continue
            for ask in application.order:
                shape = work.shapes[ask.key]
                if shape in misfits:
                    continue
                if all(queue.fits(ask.amounts) for queue in path):
                    yield application, ask
                else:
                    misfits.add(shape)

    def _preempting(self, now: int) -> Allocated | None:
        found = self.preemption(now)
        if found is not None:
            self._preempt(found, now)
        return found

    def preemption(
        self, now: int, waits: Callable[[YuniKornQueue], bool] = lambda _: False, spared: Container[str] = ()
    ) -> Allocated | None:
        """Find the first ask that has waited long enough and has victims. Nothing is carried out.

        waits: whether a leaf is skipped, since it still waits for earlier victims.
        spared: the Pods that are not chosen.
        """
        for leaf in self.preemptors.leaves(now):
            if not waits(leaf) and (found := self._preemption_in(leaf, now, spared)) is not None:
                return found
        return None

    def _preemption_in(self, leaf: YuniKornQueue, now: int, spared: Container[str]) -> Allocated | None:
        work, delay = self._waiting_in(leaf), leaf.settings.properties.preemption_delay
        tried: set[tuple[AskShape, int]] = set()
        waits_for: set[str] = set()
        later: list[int] = []
        for application in work.applications:
            if not self.may_run(application):
                waits_for.add(ANYWHERE)
                continue
            for ask in application.order:
                kind = (work.shapes[ask.key], ask.priority)
                if kind in tried or not ask.preempts:
                    continue
                if now < ask.created + delay:
                    later.append(ask.created + delay)
                elif any(True for _ in self.limits.lacks(application, ask.amounts)):
                    waits_for.add(ANYWHERE)
                elif found := victims(leaf, ask, self.work, spared):
                    return Allocated(application, ask, tuple(found))
                else:
                    tried.add(kind)
                    waits_for |= barriers(leaf, ask)
        self.preemptors.in_vain(leaf, waits_for, min(later, default=None))
        return None

    def _preempt(self, decision: Allocated, now: int) -> None:
        """Carry out a preemption. The victims end at once, and their asks wait again from now on."""
        for victim in decision.victims:
            self._release(victim.application, victim.ask.key)
            if victim.application.first == victim.ask.key:
                victim.application.first = ""
            self._wait(victim.application, replace(victim.ask, created=now))
        self._allocate(decision.application, decision.ask)

    # --- bookkeeping

    def _allocate(self, application: Application, ask: Ask) -> None:
        self._give_up(application, ask)
        self._start(application)
        application.leaf.allocate(ask.amounts)
        if ask.key in self.owners:
            self._hold(application, ask)
        else:
            self._hold_places(application)

    def _start(self, application: Application) -> None:
        if application.state is ApplicationState.ACCEPTED:
            application.state = ApplicationState.RUNNING
            application.leaf.run(1)
            self.limits.run(application, 1)
            self._closed.discard(application.leaf)  # limits on the number of applications no longer stop it

    def _count_running(self, application: Application, ask: Ask) -> None:
        """Count a Pod that runs already, even if it does not fit."""
        self._start(application)
        application.leaf.hold(ask.amounts)
        self._hold(application, ask)

    def _hold(self, application: Application, ask: Ask) -> None:
        """Count the ask as allocated. Its queues count it already."""
        application.hold(ask)
        self.limits.hold(application, ask.amounts, 1)
        self.preemptors.moved()
        self._refresh(application)

    def _release(self, application: Application, key: str) -> None:
        ask = application.let_go(key)
        application.leaf.release(ask.amounts)
        self.limits.hold(application, ask.amounts, -1)
        self._closed.clear()
        self.preemptors.released(application.leaf)
        self._refresh(application)

    def _wait(self, application: Application, ask: Ask) -> None:
        application.wait(ask)
        application.leaf.wait(ask.amounts, 1)
        self._closed.discard(application.leaf)
        self.preemptors.waits(application.leaf)
        self._waiting_in(application.leaf).wait(application, ask)
        self._refresh(application)

    def _give_up(self, application: Application, ask: Ask) -> None:
        """Stop waiting for the ask."""
        application.give_up(ask.key)
        application.leaf.wait(ask.amounts, -1)
        self._waiting_in(application.leaf).give_up(application, ask)
        self._refresh(application)

    def _refresh(self, application: Application) -> None:
        leaf = application.leaf
        work = self._waiting_in(leaf)
        work.place(application)
        self._ready.put(leaf, work.bounds())

    def _waiting_in(self, leaf: YuniKornQueue) -> LeafWork:
        return self._waiting.get(leaf) or self._waiting.setdefault(leaf, LeafWork(leaf))

    def _end(self, application: Application) -> None:
        """End an application without Pods. It may still have placeholders, or wait for them."""
        for key in [*application.allocations]:
            self._release(application, key)
        for ask in [*application.pending.values()]:
            self._give_up(application, ask)
        if application.state is ApplicationState.RUNNING:
            application.leaf.run(-1)
            self.limits.run(application, -1)
        self.limits.drop(application)
        del self.applications[application.name]
        del self.work[application.leaf][application.name]
        self._closed.clear()
        self.preemptors.moved()
        self.drop_empty(application.leaf)

    def drop_empty(self, leaf: YuniKornQueue) -> None:
        """Remove the leaf if it has no application, see `ApplicationTree.drop_empty`."""
        for gone in self.tree.drop_empty(leaf) if not self.work.get(leaf) else ():
            self._ready.drop(gone)
            self.preemptors.forget(gone)
            self._waiting.pop(gone, None)
            self.work.pop(gone, None)

    # --- gangs

    def _hold_places(self, application: Application) -> None:
        """Count the allocated placeholders of a gang, and let the waiting Pods take their places."""
        application.placeholders = Counter({group.name: group.members for group in application.gang})
        for group in application.gang:
            self._hold(application, _places(application, group.name, group.members))
        kept, application.kept = application.kept, {}
        for ask in sorted(kept.values(), key=lambda each: (-each.priority, each.created, each.key)):
            self._join(application, ask)

    def keep_places(self, application: Application, wanted: Mapping[str, int]) -> None:
        """Reserve placeholders for the Pods that are missing in each group, or as many as fit."""
        assert application.placeholders is not None
        for name in (group.name for group in application.gang):
            if application.placeholders[name]:
                self._release(application, _places_key(application, name))
            places = range(wanted.get(name, 0))
            count = bisect_left(places, True, key=lambda number: self._lacks_places(application, name, number + 1))
            application.placeholders[name] = count
            if count:
                held = _places(application, name, count)
                application.leaf.hold(held.amounts)
                self._hold(application, held)

    def take_places(self, application: Application) -> None:
        """Let waiting members take the free places of their group."""
        assert application.placeholders is not None
        for ask in [*application.order]:
            if application.placeholders[ask.group]:
                self._give_up(application, ask)
                self._join(application, ask)

    def _lacks_places(self, application: Application, group: str, count: int) -> bool:
        amounts = _places(application, group, count).amounts
        if not all(queue.fits(amounts) for queue in application.leaf.up()):
            return True
        return any(True for _ in self.limits.lacks(application, amounts))

    def _join(self, application: Application, ask: Ask) -> None:
        """Let the Pod take a place of its group. If no place is free, the Pod waits.

        If the Pod is larger than a place, it frees the place and waits, too.
        """
        places, group = application.placeholders, application.group(ask.group)
        if places is None or group is None or not places[ask.group]:
            self._wait(application, ask)
            return
        self._release(application, _places_key(application, ask.group))
        places[ask.group] -= 1
        if places[ask.group]:
            left = _places(application, ask.group, places[ask.group])
            application.leaf.hold(left.amounts)
            self._hold(application, left)
        if all(amount <= group.each.get(name, 0) for name, amount in ask.amounts.items()):
            application.leaf.hold(ask.amounts)
            self._hold(application, ask)
        else:
            self._wait(application, ask)


def _gang_ask(application: Application, originator: Ask) -> Ask:
    """The ask for all placeholders of a gang, which are allocated together."""
    key, amounts = f"gang {application.name}", together(application.gang)
    return replace(originator, key=key, amounts=amounts, created=application.submitted, group="", pinned=True)


def _places_key(application: Application, group: str) -> str:
    return f"placeholders {group} of {application.name}"


def _places(application: Application, group: str, count: int) -> Ask:
    """The ask for `count` placeholders of a group. They are never preempted."""
    each: YuniKornAmounts = next(found.each for found in application.gang if found.name == group)
    key = _places_key(application, group)
    return Ask(key, times(each, count), created=application.submitted, group=group, pinned=True)
