"""The domain that is short: the one with the most room of those that could hold the pods, and what it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scheduling.topology.counting import Counts, DomainCounts
from scheduling.topology.domains import Domain, TopologyTree


class ShortDomain(NamedTuple):
    """`room` for fewer than the `needed` units.

    values: of the domain, one for each level down to its own; empty if the pods may use all domains together.
    unit: pod or slice. of_slice: the units are the pods of one slice, else those of the pod set.
    """

    values: tuple[str, ...]
    room: int
    needed: int
    unit: str
    of_slice: bool


def short_domain(
    tree: TopologyTree, counts: DomainCounts, pods: int, level: int, *, required: bool
) -> ShortDomain | None:
    """What is short for a pod set of so many pods; None if it is something else, such as the place of the leader.

    level: the requested level. required: one of its domains has to hold all.
    """
    size, by_slice = counts.kind.slice_size, tree.at_level(counts.kind.slice_level)
    if size > 1 and by_slice and not any(counts.slices[each] for each in by_slice):
        best = _largest(by_slice, counts.pods)
        return ShortDomain(best.values, counts.pods[best], size, "pod", True)
    rooms, domains = counts.led_slices, tree.at_level(level)
    if not domains or (counts.kind.leader is not None and not any(counts.lead[each] for each in domains)):
        return None
    best = _largest(domains, rooms)
    room = rooms[best] if required else sum(map(rooms.__getitem__, domains))
    if room >= pods // size:
        return None
    return ShortDomain(best.values if required else (), room, pods // size, "slice" if size > 1 else "pod", False)


def _largest(domains: Sequence[Domain], rooms: Counts) -> Domain:
    """The first of the largest, in path order."""
    return max(domains, key=rooms.__getitem__)
