"""The domain that is short: of those that could hold the pods, the one with the most room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scheduling.topology.counting import Counts, DomainCounts
from scheduling.topology.domains import Domain, TopologyTree


class ShortDomain(NamedTuple):
    """A domain that has `room` for fewer units than `needed`.

    values: its path; empty if the pods may use all domains together.
    unit: "pod" or "slice".
    of_slice: whether `needed` counts the pods of one slice, not those of the pod set.
    """

    values: tuple[str, ...]
    room: int
    needed: int
    unit: str
    of_slice: bool


def short_domain(
    tree: TopologyTree, counts: DomainCounts, pods: int, level: int, *, required: bool
) -> ShortDomain | None:
    """The domain that is short for `pods` pods; None if something else is short, such as room for the leader.

    level: the requested level. required: whether one of its domains has to hold all pods.
    """
    kind, domains = counts.kind, tree.at_level(level)
    size, by_slice = kind.slice_size, tree.at_level(kind.slice_level)
    least = size if pods >= size else kind.short or size
    if size > 1 and by_slice and not any(counts.pods[each] >= least for each in by_slice):
        best = _largest(by_slice, counts.pods)
        return ShortDomain(best.values, counts.pods[best], least, "pod", True)
    if not domains or (kind.leader is not None and not any(counts.lead[each] for each in domains)):
        return None
    rooms = _with_short_slice(counts, domains) if kind.short else counts.led_slices
    best = _largest(domains, rooms)
    room = rooms[best] if required else _room_together(counts, domains)
    needed = pods // size + (1 if kind.short else 0)
    if room >= needed:
        return None
    return ShortDomain(best.values if required else (), room, needed, "slice" if size > 1 else "pod", False)


def _with_short_slice(counts: DomainCounts, domains: Sequence[Domain]) -> Counts:
    """The number of slices that each domain holds, if one of them is the short one."""
    return {domain: counts.led_short[domain] + 1 for domain in domains}


def _room_together(counts: DomainCounts, domains: Sequence[Domain]) -> int:
    """The number of slices that all domains hold. The short slice counts if it fits without displacing a whole one."""
    rooms = counts.led_slices
    free = any(counts.led_short[each] == rooms[each] for each in domains) if counts.kind.short else False
    return sum(map(rooms.__getitem__, domains)) + (1 if free else 0)


def _largest(domains: Sequence[Domain], rooms: Counts) -> Domain:
    """The domain with the most room, the first in path order."""
    return max(domains, key=rooms.__getitem__)
