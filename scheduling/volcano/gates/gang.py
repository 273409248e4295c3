"""The Pods of one PodGroup at the gate: which wait, which have passed, and which may pass next.

As long as nobody has passed, as many as the PodGroup needs pass together; from then on one at a time. Every change
costs what it changes, whatever the size of the PodGroup; those that start together are added up once they are there.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from heapq import merge
from itertools import repeat
from typing import NamedTuple, TypeVar

from scheduling.objects.amounts import add_to
from scheduling.volcano.gates.gated_pod import ALONE, Need, Together, VolcanoGatedPod
from scheduling.volcano.objects import PodGroup

T = TypeVar("T")
Rank = tuple[int, bool, int, str]
Order = tuple[bool, int, bool, int, str, int, int, str]


class GangWish(NamedTuple):
    """Pods that pass together, or not at all. The least `order` is served first: who completes a gang that was let
    pass, then PodGroups by priority, incomplete ones first, by age and name, and Pods by priority, age and name."""

    order: Order
    queue: str
    group: str
    need: Need
    keys: tuple[str, ...]
    together: Together = ALONE
    reclaims: bool = True
    """Whether others may be reclaimed for all of them: only until as many have passed as the PodGroup needs."""


class _Place(NamedTuple):
    """Where a Pod stands among those of its PodGroup."""

    priority: int
    created: int
    key: str
    role: str
    reclaims: bool


class _Stage(NamedTuple):
    """What all wishes of a PodGroup have in common: `together` while nobody has passed, `starves` while fewer have than
    it needs. Who was created `until` then completes a gang that was let pass (nanoseconds)."""

    together: bool
    starves: bool
    queue: str
    order: Rank
    until: int


class GatedGang:
    """`group` is None as long as there is no such PodGroup. `wishes` are those that `changes` returned."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.group: PodGroup | None = None
        self.priority_class = ""
        self.wishes: dict[Need, GangWish] = {}
        self._waiting: dict[Need, list[_Place]] = {}
        self._waits: Counter[str] = Counter()
        self._passed: Counter[str] = Counter()
        self._together: Counter[Together] = Counter()
        self._roles: Mapping[str, int] = {}
        """Members that each task needs; where they are more than the PodGroup needs, Volcano looks at none."""
        self._stage: _Stage | None = None
        self._outdated: dict[Need, None] = {}
        self._renewed = True
        self._last: _Place | None = None

    @property
    def empty(self) -> bool:
        return self.group is None and not self._waits and not self._passed

    @property
    def begun(self) -> bool:
        """Whether any of its Pods has passed."""
        return bool(self._passed)

    @property
    def least(self) -> int:
        """How many of its Pods have to run together."""
        return self._needed()

    def put_group(self, group: PodGroup | None, priority: int = 0) -> None:
        self.group = replace(group, priority=priority) if group is not None else None
        least = {role: members for role, members in (group.members_of if group else {}).items() if members > 0}
        self._roles = least if group is not None and sum(least.values()) <= group.members else {}
        self._renewed = True

    def wait(self, pod: VolcanoGatedPod, times: int = 1) -> None:
        """The Pod waits; with times -1 no longer."""
        place, line = _place(pod), self._waiting.setdefault(pod.need, [])
        if times > 0:
            insort(line, place)
        else:
            del line[bisect_left(line, place)]
            if not line:
                del self._waiting[pod.need]
        _count(self._waits, pod.role, times)
        self._outdated[pod.need] = None
        self._renewed = self._renewed or self._matters(place)

    def passes(self, pod: VolcanoGatedPod, together: Together, times: int = 1) -> None:
        """The Pod has passed, or may, `together` with others; with times -1 that is over."""
        _count(self._passed, pod.role, times)
        _count(self._together, together, times)

    def order(self, pod: VolcanoGatedPod) -> Order:
        """Where the Pod, which waits, stands among those in its queue: as in its wish, were it the first of one."""
        stage = self._stage or _Stage(together=False, starves=False, queue="", order=self._rank(), until=0)
        return _order(stage, _place(pod))

    # --- what may pass next

    def lacks(self) -> str:
        """Which members are still to be created; empty where there are enough to start, or where one has passed."""
        if self.group is None or self._passed:
            return ""
        for role, members in self._roles.items():
            if self._waits[role] < members:
                return f"not all of the {members} members of task {role} that start together are there"
        needed = self._needed()
        return f"not all of the {needed} members that start together are there" if self._waits.total() < needed else ""

    def wish_of(self, need: Need) -> GangWish | None:
        """The wish that a Pod with this need waits for; None where `changes` has not returned it yet."""
        if self._stage is not None and self._stage.together:
            return next(iter(self.wishes.values()), None)
        return self.wishes.get(need)

    def rest(self) -> Need | None:
        """What the Pods need that have to pass until as many have passed as start together; None if too few wait."""
        roles = {role: max(0, members - self._passed[role]) for role, members in self._roles.items()}
        members = max(sum(roles.values()), self._needed() - self._passed.total())
        if any(self._waits[role] < missing for role, missing in roles.items()) or self._waits.total() < members:
            return None
        return _added(self._first(roles, members))

    def changes(self) -> tuple[list[GangWish], list[GangWish]]:
        """The wishes that are gone since the last call, and the new ones."""
        stage = self._now()
        if stage is None or stage != self._stage or (stage.together and self._renewed):
            gone, self.wishes = [*self.wishes.values()], {}
            new = [*self._wished(stage)] if stage is not None else []
        else:
            outdated = [] if stage.together else [*self._outdated]
            gone = [self.wishes.pop(need) for need in outdated if need in self.wishes]
            new = [*self._singles(stage, outdated)]
        self.wishes |= {wish.need: wish for wish in new}
        self._stage, self._outdated, self._renewed = stage, {}, False
        return gone, new

    def _now(self) -> _Stage | None:
        """The current stage; None while no Pod may pass, whatever the quota."""
        group = self.group
        if group is None or not self._waiting or self.lacks():
            return None
        together = not self._passed and self._needed() > 1
        starves = self._passed.total() < self._needed()
        until = 0 if self._complete else self._start.youngest
        return _Stage(together, starves, group.queue, self._rank(), until)

    def _rank(self) -> Rank:
        """The sort key: priority, complete, age and name."""
        group = self.group
        priority, created, name = (group.priority, group.created, group.name) if group else (0, 0, self.name)
        return -priority, self._complete, created, name

    @property
    def _start(self) -> Together:
        """How its first Pods passed."""
        return max(self._together, default=ALONE)

    @property
    def _complete(self) -> bool:
        """Whether as many as started together have passed. A PodGroup that asks for more later is still complete."""
        return self._passed.total() >= self._start.pods

    def _needed(self) -> int:
        """How many pass together at first."""
        return max(0, self.group.members) if self.group is not None else 0

    def _wished(self, stage: _Stage) -> Iterator[GangWish]:
        return iter([self._gang(stage)]) if stage.together else self._singles(stage, self._waiting)

    def _gang(self, stage: _Stage) -> GangWish:
        """The wish of those that start together."""
        chosen = self._first(self._roles, self._needed())
        places = [place for place, _ in chosen]
        self._last = places[-1]
        wish = self._wish(stage, _added(chosen), places)
        return wish._replace(together=Together(self._needed(), max(place.created for place in places)))

    def _first(self, roles: Mapping[str, int], members: int) -> list[tuple[_Place, Need]]:
        """The first waiting Pods of each of these tasks, then the first ones of any, until there are so many."""
        needed = {**roles}
        spare = members - sum(needed.values())
        chosen: list[tuple[_Place, Need]] = []
        for place, need in merge(*(zip(line, repeat(need)) for need, line in self._waiting.items())):
            if len(chosen) == members:
                break
            if needed.get(place.role, 0) > 0:
                needed[place.role] -= 1
            elif spare > 0:
                spare -= 1
            else:
                continue
            chosen.append((place, need))
        return chosen

    def _singles(self, stage: _Stage, needs: Mapping[Need, object] | list[Need]) -> Iterator[GangWish]:
        """A wish for the first Pod of each group with the same needs."""
        for need in needs:
            if need in self._waiting:
                yield self._wish(stage, need, self._waiting[need][:1])

    def _wish(self, stage: _Stage, need: Need, places: list[_Place]) -> GangWish:
        keys = tuple(place.key for place in places)
        reclaims = stage.starves and all(place.reclaims for place in places)
        return GangWish(_order(stage, places[0]), stage.queue, self.name, need, keys, reclaims=reclaims)

    def _matters(self, place: _Place) -> bool:
        """Whether the Pod is, or would be, one of those that pass together."""
        return self._last is None or place <= self._last


def _added(chosen: list[tuple[_Place, Need]]) -> Need:
    """What they need together."""
    amounts: dict[str, int] = {}
    for _, need in chosen:
        add_to(amounts, dict(need.amounts))
    return Need(tuple(sorted(amounts.items())), any(need.claims for _, need in chosen))


def _count(counter: Counter[T], what: T, times: int) -> None:
    counter[what] += times
    if not counter[what]:
        del counter[what]


def _order(stage: _Stage, place: _Place) -> Order:
    return place.created > stage.until, *stage.order, place.priority, place.created, place.key


def _place(pod: VolcanoGatedPod) -> _Place:
    return _Place(-pod.priority, pod.created, pod.key, pod.role, pod.reclaims)
