"""Assigns the Pods of a group to the roles of its Workload, and selects which Pods to keep and which are excess.

A role is a pod set of the Workload. A Pod claims a role, but it does not get one whose requests are smaller than its
own, because quota was reserved for Pods of that size. A running Pod keeps the role with which it was started.
Source: Kueue v0.19, pkg/controller/jobs/pod.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reconciler.jobs.pod_member import GroupPod
from scheduling.objects.amounts import Requests
from scheduling.objects.roles import pod_requests
from scheduling.objects.workload import PodSet, Workload

Selectors = Mapping[str, Mapping[str, str]]
"""The node selectors with which Pods were started, by pod set."""


@dataclass(frozen=True, slots=True)
class GroupSelection:
    """The Pods of a group by what happens to them.

    `kept`: the Pods that form the group.
    `excess`: the Pods that exceed its size.
    `replaced`: ended Pods whose replacement exists.
    `absent`: the number of Pods that do not exist yet.
    `vacant`: the number of roles that have no Pod.
    `strangers`: the Pods that fit no role of the Workload.
    `startable`: the waiting Pods for which the Pods that use quota leave room.
    `crowded`: whether more Pods use quota than the Workload has.
    `roles`: the role of each Pod except strangers, by uid.
    """

    kept: tuple[GroupPod, ...] = ()
    excess: tuple[GroupPod, ...] = ()
    replaced: tuple[GroupPod, ...] = ()
    absent: int = 0
    vacant: int = 0
    strangers: tuple[GroupPod, ...] = ()
    startable: tuple[GroupPod, ...] = ()
    crowded: bool = False
    roles: Mapping[str, str] = field(default_factory=dict)


def selected(members: Sequence[GroupPod], read: Workload, selectors: Selectors | None = None) -> GroupSelection:
    """Select from all Pods of a group. While an excess Pod runs, no Pod may start."""
    roles = roles_of(members, read, selectors or {})
    by_role: dict[str, list[GroupPod]] = {pod_set.name: [] for pod_set in read.pod_sets}
    strangers: list[GroupPod] = []
    for member in members:
        (by_role[roles[member.uid]] if member.uid in roles else strangers).append(member)
    selections = [_select_for_role(by_role[each.name], each, read) for each in read.pod_sets]
    crowded = any(selection.crowded for selection in selections) or any(member.occupies for member in strangers)
    return GroupSelection(
        kept=tuple(member for selection in selections for member in selection.kept),
        excess=tuple(member for selection in selections for member in selection.excess),
        replaced=tuple(member for selection in selections for member in selection.replaced),
        absent=sum(selection.absent for selection in selections),
        vacant=sum(selection.vacant for selection in selections),
        strangers=tuple(strangers),
        startable=() if crowded else tuple(member for selection in selections for member in selection.startable),
        crowded=crowded,
        roles=roles,
    )


def by_merit(members: Sequence[GroupPod]) -> list[GroupPod]:
    """The Pods in the order in which they are kept: with a finalizer first, then started, then older ones."""
    return sorted(members, key=lambda each: (not each.finalized, each.gated, each.created, each.name))


def done(members: Sequence[GroupPod], read: Workload, roles: Mapping[str, str]) -> dict[str, int]:
    """The number of succeeded Pods by role, limited to its size. A recorded success counts even if the Pod is gone."""
    found = dict(read.reclaimable)
    succeeded = Counter(roles[member.uid] for member in members if member.succeeded and member.uid in roles)
    for name, count in ((pod_set.name, pod_set.count) for pod_set in read.pod_sets):
        if succeeded[name] or name in found:
            found[name] = min(count, max(found.get(name, 0), succeeded[name]))
    return found


def roles_of(members: Sequence[GroupPod], read: Workload, selectors: Selectors) -> dict[str, str]:
    """The pod set of each Pod, by uid. Pods that use quota or have succeeded are assigned first."""
    sets = [
        _Room(each, pod_requests(each.template), selectors.get(each.name, {}), each.count) for each in read.pod_sets
    ]
    found: dict[str, str] = {}
    for member in sorted(members, key=lambda each: not (each.occupies or each.succeeded)):
        fitting = [room for room in sets if room.fits(member)]
        if fitting:
            room = min(fitting, key=lambda each: each.unlikely(member))
            room.free -= member.counts
            found[member.uid] = room.pod_set.name
    return found


@dataclass(slots=True)
class _Room:
    """A pod set while Pods are assigned to it.

    `selector`: the node selector with which its Pods were started.
    `free`: how many more Pods it needs.
    """

    pod_set: PodSet
    asks: Requests
    selector: Mapping[str, str]
    free: int

    def fits(self, member: GroupPod) -> bool:
        """Whether the Pod fits the role.

        A waiting Pod must have the admitted requests. A running Pod may have been resized to less.
        """
        if member.gated:
            return member.asks == self.asks
        return all(amount <= self.asks.get(resource, 0) for resource, amount in member.asks.items())

    def unlikely(self, member: GroupPod) -> tuple[bool, ...]:
        """A sort key: Pods with a greater one are less likely to belong to this pod set.

        For a running Pod, the role that it claims matters least.
        """
        full, another = self.free <= 0, member.claim.role != self.pod_set.name
        if member.gated:
            return another, full
        elsewhere = not self.selector.items() <= member.node_selector.items()
        return elsewhere, member.asks != self.asks, full, another


def _select_for_role(members: Sequence[GroupPod], pod_set: PodSet, read: Workload) -> GroupSelection:
    succeeded = sum(member.succeeded for member in members)
    # Pods that have succeeded and are gone need no replacement.
    needed = pod_set.count - max(0, read.reclaimable.get(pod_set.name, 0) - succeeded)
    there = by_merit([member for member in members if member.counts])
    over = [member for member in members if not member.counts]
    kept, excess = there[:needed], there[needed:]
    occupied = sum(member.occupies for member in members)
    free = max(0, needed - succeeded) - occupied
    waiting = [member for member in kept if member.gated and not member.ended]
    wait_for = max(0, needed - len(there))
    return GroupSelection(
        kept=tuple(kept),
        excess=tuple(excess),
        replaced=tuple(_last_active_first(over)[wait_for:]),
        absent=wait_for,
        vacant=int(needed > 0 and not there),
        startable=tuple(waiting[: max(0, free)]),
        crowded=free < 0,
    )


def _last_active_first(members: Sequence[GroupPod]) -> list[GroupPod]:
    """Ended Pods in the order in which they are kept until they are replaced: the one that ended last comes first."""
    ordered = sorted(members, key=lambda each: (each.created, each.name))
    ordered.sort(key=lambda each: each.ended_at, reverse=True)
    return sorted(ordered, key=lambda each: not each.finalized)
