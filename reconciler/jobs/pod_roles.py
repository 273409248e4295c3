"""Which Pods of a group its Workload has room for, role by role: who stays, who is too many, who was replaced.

Source: Kueue v0.19, pkg/controller/jobs/pod.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reconciler.jobs.pod_member import Member
from scheduling.objects.workload import Workload


@dataclass(frozen=True, slots=True)
class Selection:
    """`kept`: the Pods that make up the group. `excess`: there are enough without these. `replaced`: they are over,
    and nobody has to wait for others in their place. `absent`: how many are still to come. `strangers`: their role is
    none of the Workload's. `startable`: they wait, and what holds their room now leaves enough for them.
    """

    kept: tuple[Member, ...] = ()
    excess: tuple[Member, ...] = ()
    replaced: tuple[Member, ...] = ()
    absent: int = 0
    strangers: tuple[Member, ...] = ()
    startable: tuple[Member, ...] = ()


def selected(members: Sequence[Member], read: Workload) -> Selection:
    """Of all Pods of a group, for its Workload."""
    roles = {pod_set.name: _Role(_needed(members, read, pod_set.name, pod_set.count)) for pod_set in read.pod_sets}
    strangers = []
    for member in members:
        if member.role in roles:
            roles[member.role].take(member)
        else:
            strangers.append(member)
    parts = [role.selection() for role in roles.values()]
    return Selection(
        kept=tuple(member for part in parts for member in part.kept),
        excess=tuple(member for part in parts for member in part.excess),
        replaced=tuple(member for part in parts for member in part.replaced),
        absent=sum(part.absent for part in parts),
        strangers=tuple(strangers),
        startable=tuple(member for part in parts for member in part.startable),
    )


def by_merit(members: Sequence[Member]) -> list[Member]:
    """Those that are to stay first: not given up yet, started, older."""
    return sorted(members, key=lambda each: (not each.finalized, each.gated, each.created, each.name))


def done(members: Sequence[Member], read: Workload) -> dict[str, int]:
    """How many Pods of each role are done well. What was reported once stays so, though the Pod may be gone by now."""
    found = dict(read.reclaimable)
    for name in (pod_set.name for pod_set in read.pod_sets):
        observed = sum(member.succeeded for member in members if member.role == name)
        if observed or name in found:
            found[name] = max(found.get(name, 0), observed)
    return found


def _needed(members: Sequence[Member], read: Workload, role: str, count: int) -> int:
    """How many Pods there are to be; those that were done well and are gone by now need nobody in their place."""
    observed = sum(member.succeeded for member in members if member.role == role)
    return count - max(0, read.reclaimable.get(role, 0) - observed)


class _Role:
    def __init__(self, needed: int) -> None:
        self.needed = needed
        self.there: list[Member] = []
        self.over: list[Member] = []

    def take(self, member: Member) -> None:
        (self.there if member.counts else self.over).append(member)

    def selection(self) -> Selection:
        there = by_merit(self.there)
        kept, excess = there[: self.needed], there[self.needed :]
        holding = sum(member.occupies or member.succeeded for member in (*there, *self.over))
        waiting = [member for member in kept if member.gated and not member.terminated]
        wait_for = max(0, self.needed - len(there))
        return Selection(
            kept=tuple(kept),
            excess=tuple(excess),
            replaced=tuple(_last_active_first(self.over)[wait_for:]),
            absent=wait_for,
            startable=tuple(waiting[: max(0, self.needed - holding)]),
        )


def _last_active_first(members: Sequence[Member]) -> list[Member]:
    """Those first that are to be kept in sight until others take their place."""
    ordered = sorted(members, key=lambda each: (each.created, each.name))
    ordered.sort(key=lambda each: each.ended, reverse=True)
    return sorted(ordered, key=lambda each: not each.finalized)
