"""The managed Pods of the loop, by the Workload that they share: which are to be looked at, and what is asked for them.

Of each Pod the little that decisions go by is kept beside the packed whole, so that a group of thousands costs nothing
while nothing about it changes, and little when one of its Pods does.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cluster.actions import Delete
from cluster.resource import PODS
from cluster.stream import Manifest
from policies.dialects.core import POD
from policies.dialects.kueue_jobs import MANAGED
from reconciler.faults import FAULT, Faults
from reconciler.feed import Followed, Key, Seen, ignore
from reconciler.jobs.life import orphaned
from reconciler.jobs.pod_group import steps
from reconciler.jobs.pod_member import Member, read_member
from reconciler.jobs.pod_unit import Unit
from reconciler.jobs.pod_writes import about
from reconciler.jobs.step import JobSurroundings
from reconciler.patches import WORKLOADS
from reconciler.side import Busy, Look, Turn
from scheduling.objects.workload import Workload

_KIND, _WORKLOAD = "Pod", "Workload"
FOLLOWED_PODS = Followed(_KIND, PODS, read_member, ignore, ignore, labelled=f"{MANAGED}=true", anew=True)


class PodSide:
    """A unit is what shares a Workload, by `namespace/name` of that. While any write for a unit is under way it gets no
    step, so that each step sees what came of the one before.
    """

    followed: tuple[Followed, ...] = (FOLLOWED_PODS,)

    def __init__(self, stored: Look) -> None:
        self._stored = stored
        self._around = JobSurroundings()
        self._units: dict[str, dict[str, Member]] = {}
        self._unit_of: dict[str, str] = {}
        self._awaited: dict[str, list[Key]] = {}
        self._dirty: dict[str, None] = {}
        self._loose: dict[str, None] = {}
        self._faults = Faults()

    def see(self, seen: Seen) -> None:
        name: str = seen.key[1]
        member: Member | None = seen.value
        before = self._unit_of.get(name)
        if before is not None and (member is None or member.workload != before):
            self._forget(name, before)
        if member is None:
            return
        unit = self._units.setdefault(member.workload, {})
        if unit.get(name) != member:
            self._dirty[member.workload] = None
        unit[name] = member
        self._unit_of[name] = member.workload

    def _forget(self, name: str, unit: str) -> None:
        del self._unit_of[name]
        members = self._units[unit]
        del members[name]
        if members:
            self._dirty[unit] = None
            return
        del self._units[unit]
        self._awaited.pop(unit, None)
        self._dirty.pop(unit, None)
        self._faults.forget((_WORKLOAD, unit))
        if self._read(unit) is not None:
            self._loose[unit] = None

    def touch(self, workload: str) -> None:
        read = self._read(workload)
        if workload in self._units:
            self._dirty[workload] = None
        elif read is None:
            self._loose.pop(workload, None)
            self._faults.forget((_WORKLOAD, workload))
        elif read.deleting or read.evicted:
            self._loose[workload] = None

    def renew(self, around: JobSurroundings) -> None:
        """Flavors and priority classes matter to those that still wait."""
        self._around = around
        waiting = (key for key, unit in self._units.items() if any(member.gated for member in unit.values()))
        self._dirty.update(dict.fromkeys(waiting))

    def due(self, busy: Busy, now: int) -> Iterator[Turn]:
        keys, self._dirty = self._dirty, {}
        for key in keys:
            unit = self._units.get(key)
            if unit is None:
                continue
            if self._waits(key, busy) or self._faults.resting((_WORKLOAD, key), now):
                self._dirty[key] = None
                continue
            yield from self._turns(key, Unit.of(key, tuple(unit.values())), now)
        yield from self._due_loose(busy, now)

    def _waits(self, key: str, busy: Busy) -> bool:
        """Whether a write for the unit is still under way, or at rest after a refusal."""
        awaited = self._awaited.get(key, [])
        while awaited and not busy(*awaited[-1]):
            awaited.pop()
        if not awaited:
            self._awaited.pop(key, None)
        return bool(awaited) or busy(_WORKLOAD, key)

    def _turns(self, key: str, unit: Unit, now: int) -> Iterator[Turn]:
        def next_steps() -> list[Turn]:
            return steps(unit, self._read(key), lambda: self._whole(key), self._around, now)

        unit_key = (_WORKLOAD, key)
        for turn in self._faults.guarded(unit_key, next_steps, about(unit.first), now):
            if turn.reason == FAULT:
                self._dirty[key] = None
            if turn.action is not None:
                self._awaited.setdefault(key, []).append(turn.key)
                self._dirty[key] = None  # what came of it is looked at, even where it is nothing
            yield turn

    def _due_loose(self, busy: Busy, now: int) -> Iterator[Turn]:
        for name in list(self._loose):
            key = (_WORKLOAD, name)
            if not busy(*key) and not self._faults.resting(key, now):
                yield from self._faults.guarded(key, partial(self._let_go, name), None, now)

    def _let_go(self, name: str) -> Iterator[Turn]:
        """A Workload whose Pods are all gone. The garbage collector takes it, but may take its time: what was evicted
        is taken away here, since others wait for its quota.
        """
        read = self._read(name)
        if read is not None and name not in self._units and _of_pods(read):
            if read.deleting:
                yield from (Turn((_WORKLOAD, name), step.action) for step in orphaned(self._whole(name), read))
            elif read.evicted and read.reserved:
                yield Turn((_WORKLOAD, name), Delete(WORKLOADS, read.namespace, read.name, read.resource_version))
        del self._loose[name]

    def _read(self, name: str) -> Workload | None:
        found = self._stored(name)
        return found.value if found is not None else None

    def _whole(self, name: str) -> Manifest:
        found = self._stored(name)
        whole: Manifest = found.aside.manifest() if found is not None and found.aside is not None else {}
        return whole


def _of_pods(read: Workload) -> bool:
    return bool(read.owners) and all((owner.api_version, owner.kind) == ("v1", POD.kind) for owner in read.owners)
