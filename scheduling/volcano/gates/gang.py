"""The Pods of one PodGroup at the scheduling gate: which wait, which have passed, and which may pass next.

The first Pods pass together, as many as the PodGroup needs (minMember): its joint start. All later Pods pass one at a
time. The cost of a change does not depend on the size of the PodGroup, except for the one sum over the Pods of the
joint start.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from heapq import merge
from itertools import repeat
from typing import NamedTuple

from scheduling.objects.amounts import add_to
from scheduling.queue_tree.amounts import total
from scheduling.volcano.gates.gated_pod import ALONE, Need, Together, VolcanoGatedPod
from scheduling.volcano.objects import PodGroup

Rank = tuple[int, bool, int, str]
"""The sort key of a PodGroup in its queue: negative priority, whether it is complete, creation time and name."""
Order = tuple[bool, int, bool, int, str, int, int, str]
"""The sort key of a batch in its queue: see `PodBatch.order`."""


class PodBatch(NamedTuple):
    """Pods that pass the gate together or not at all: the first Pods of a gang, or a single Pod.

    order: the batch with the lowest value is tried first. Pods that complete a gang of which some have passed come
        first, then PodGroups by priority, incomplete ones first, by age and name, then Pods by priority, age and name.
    queue, group: the queue and the PodGroup of the Pods.
    need: the sum of their requests.
    keys: the Pods, as `namespace/name`.
    together: what is recorded on the Pods about their joint start.
    reclaims: whether Pods of other queues may be reclaimed for this batch: only until minMember Pods have passed.
    """

    order: Order
    queue: str
    group: str
    need: Need
    keys: tuple[str, ...]
    together: Together = ALONE
    reclaims: bool = True


class _Place(NamedTuple):
    """The sort key of a waiting Pod within its PodGroup. `role`: its task."""

    priority: int
    created: int
    key: str
    role: str
    reclaims: bool


class _Stage(NamedTuple):
    """What all batches of a PodGroup have in common at the moment.

    together: no Pod has passed, so that the first ones pass together.
    starves: fewer Pods have passed than the PodGroup needs.
    queue, order: its queue, and its sort key in the queue.
    until: waiting Pods that were created up to this time (nanoseconds) come first, since they complete a joint start of
        which some Pods have passed. It is the creation time of the youngest of its Pods; 0 if it is complete.
    """

    together: bool
    starves: bool
    queue: str
    order: Rank
    until: int


class GatedGang:
    """The waiting and the passed Pods of one PodGroup.

    batches: the current batches, as `changes` last returned them.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.group: PodGroup | None = None
        self.priority_class = ""
        self.batches: dict[Need, PodBatch] = {}
        self._waiting: dict[Need, list[_Place]] = {}  # the waiting Pods by need, sorted
        self._waits: Counter[str] = Counter()  # the number of waiting Pods by role
        self._passed: Counter[str] = Counter()  # the number of passed Pods by role
        self._together: Counter[Together] = Counter()  # the joint starts of passed Pods
        self._roles: Mapping[str, int] = {}
        """The members that each task needs; empty if the sum exceeds minMember, since Volcano then ignores them."""
        self._stage: _Stage | None = None  # the stage of the last call of `changes`
        self._outdated: dict[Need, None] = {}  # needs whose batches have changed since then
        self._renewed = True  # whether the batch of a joint start may have changed
        self._last: _Place | None = None  # the last Pod of the joint start

    @property
    def empty(self) -> bool:
        return self.group is None and not self._waits and not self._passed

    @property
    def begun(self) -> bool:
        return bool(self._passed)

    @property
    def least(self) -> int:
        """How many of its Pods have to run together (minMember)."""
        return max(0, self.group.members) if self.group is not None else 0

    def put_group(self, group: PodGroup | None, priority: int = 0) -> None:
        self.group = replace(group, priority=priority) if group is not None else None
        least = {role: members for role, members in (group.members_of if group else {}).items() if members > 0}
        self._roles = least if group is not None and sum(least.values()) <= group.members else {}
        self._renewed = True

    def wait(self, pod: VolcanoGatedPod, times: int = 1) -> None:
        """Count a waiting Pod; with `times` -1, stop counting it."""
        place, line = _place(pod), self._waiting.setdefault(pod.need, [])
        if times > 0:
            insort(line, place)
        else:
            del line[bisect_left(line, place)]
            if not line:
                del self._waiting[pod.need]
        add_to(self._waits, {pod.role: times})
        self._outdated[pod.need] = None
        self._renewed = self._renewed or self._is_in_joint_start(place)

    def passes(self, pod: VolcanoGatedPod, together: Together, times: int = 1) -> None:
        """Count a Pod that has passed or may pass, `together` with others; with `times` -1, stop counting it."""
        add_to(self._passed, {pod.role: times})
        add_to(self._together, {together: times})

    def order(self, pod: VolcanoGatedPod) -> Order:
        """The sort key of the waiting Pod in its queue: that of a batch whose first Pod it is."""
        stage = self._stage or _Stage(together=False, starves=False, queue="", order=self._rank(), until=0)
        return _order(stage, _place(pod))

    # --- what may pass next

    def missing_members(self) -> str:
        """Which members do not exist yet, in words; empty if there are enough to start, or if one has passed."""
        if self.group is None or self._passed:
            return ""
        for role, members in self._roles.items():
            if self._waits[role] < members:
                return f"not all of the {members} members of task {role} that start together exist yet"
        needed = self.least
        return f"not all of the {needed} members that start together exist yet" if self._waits.total() < needed else ""

    def batch_of(self, need: Need) -> PodBatch | None:
        """The batch with which a Pod with this need passes; None if `changes` has not returned it yet."""
        if self._stage is not None and self._stage.together:
            return next(iter(self.batches.values()), None)
        return self.batches.get(need)

    def remaining_need(self) -> Need | None:
        """The requests of the Pods that have to pass until the gang is complete; None if too few wait."""
        roles = {role: max(0, members - self._passed[role]) for role, members in self._roles.items()}
        members = max(sum(roles.values()), self.least - self._passed.total())
        if any(self._waits[role] < missing for role, missing in roles.items()) or self._waits.total() < members:
            return None
        return _sum_of_needs(self._first(roles, members))

    def changes(self) -> tuple[list[PodBatch], list[PodBatch]]:
        """The batches that were removed since the last call, and the new ones."""
        stage = self._current_stage()
        if stage is None or stage != self._stage or (stage.together and self._renewed):
            gone, self.batches = [*self.batches.values()], {}
            new = [*self._batches(stage)] if stage is not None else []
        else:
            outdated = [] if stage.together else [*self._outdated]
            gone = [self.batches.pop(need) for need in outdated if need in self.batches]
            new = [*self._singles(stage, outdated)]
        self.batches |= {batch.need: batch for batch in new}
        self._stage, self._outdated, self._renewed = stage, {}, False
        return gone, new

    def _current_stage(self) -> _Stage | None:
        """The current stage; None if no Pod may pass, whatever the quota."""
        group = self.group
        if group is None or not self._waiting or self.missing_members():
            return None
        together = not self._passed and self.least > 1
        starves = self._passed.total() < self.least
        until = 0 if self._complete else self._start.youngest
        return _Stage(together, starves, group.queue, self._rank(), until)

    def _rank(self) -> Rank:
        """The sort key: priority, complete, age and name."""
        group = self.group
        priority, created, name = (group.priority, group.created, group.name) if group else (0, 0, self.name)
        return -priority, self._complete, created, name

    @property
    def _start(self) -> Together:
        """The joint start of its first Pods."""
        return max(self._together, default=ALONE)

    @property
    def _complete(self) -> bool:
        """Whether all Pods of the joint start have passed.

        A PodGroup whose minMember is raised later stays complete.
        """
        return self._passed.total() >= self._start.pods

    def _batches(self, stage: _Stage) -> Iterator[PodBatch]:
        return iter([self._gang(stage)]) if stage.together else self._singles(stage, self._waiting)

    def _gang(self, stage: _Stage) -> PodBatch:
        chosen = self._first(self._roles, self.least)
        places = [place for place, _ in chosen]
        self._last = places[-1]
        batch = self._batch(stage, _sum_of_needs(chosen), places)
        return batch._replace(together=Together(self.least, max(place.created for place in places)))

    def _first(self, roles: Mapping[str, int], members: int) -> list[tuple[_Place, Need]]:
        """Choose `members` waiting Pods: the first ones that each role needs, then the first ones of any role."""
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

    def _singles(self, stage: _Stage, needs: Mapping[Need, object] | list[Need]) -> Iterator[PodBatch]:
        """Yield a batch of the first waiting Pod for each of the needs."""
        for need in needs:
            if need in self._waiting:
                yield self._batch(stage, need, self._waiting[need][:1])

    def _batch(self, stage: _Stage, need: Need, places: list[_Place]) -> PodBatch:
        keys = tuple(place.key for place in places)
        reclaims = stage.starves and all(place.reclaims for place in places)
        return PodBatch(_order(stage, places[0]), stage.queue, self.name, need, keys, reclaims=reclaims)

    def _is_in_joint_start(self, place: _Place) -> bool:
        """Whether the Pod sorts among the Pods that pass together."""
        return self._last is None or place <= self._last


def _sum_of_needs(chosen: list[tuple[_Place, Need]]) -> Need:
    amounts = total(*(dict(need.amounts) for _, need in chosen))
    return Need(tuple(sorted(amounts.items())), any(need.claims for _, need in chosen))


def _order(stage: _Stage, place: _Place) -> Order:
    return place.created > stage.until, *stage.order, place.priority, place.created, place.key


def _place(pod: VolcanoGatedPod) -> _Place:
    return _Place(-pod.priority, pod.created, pod.key, pod.role, pod.reclaims)
