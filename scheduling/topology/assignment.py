"""A topology assignment: the domains that a pod set got, and how many of its pods each holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, TypeAlias

HOSTNAME = "kubernetes.io/hostname"
"""The level of a Topology at which a domain is one node."""

DomainId: TypeAlias = tuple[str, ...]
"""The values of a lowest domain, level by level; the host name alone where the lowest level is the host name."""


class AssignedDomain(NamedTuple):
    """`values`: one for each level of the assignment. `pods`: how many run there."""

    values: DomainId
    pods: int


@dataclass(frozen=True, slots=True)
class TopologyAssignment:
    """`levels` are keys of node labels: all of the Topology, or the host name alone. `domains` are in path order.

    nodes: the nodes below these domains that the pods were counted on. They are not stored, so only other pods of the
    same workload are kept from them.
    """

    levels: tuple[str, ...]
    domains: tuple[AssignedDomain, ...] = ()
    nodes: tuple[AssignedDomain, ...] = field(default=(), compare=False)

    @property
    def by_host(self) -> bool:
        """Whether the lowest domains are nodes."""
        return bool(self.levels) and self.levels[-1] == HOSTNAME

    @property
    def pods(self) -> int:
        """How many pods have a place."""
        return sum(domain.pods for domain in self.domains)

    def counts(self) -> dict[DomainId, int]:
        """The pods of each domain. In a topology of hosts the host name alone is the domain."""
        found: dict[DomainId, int] = {}
        for values, count in self.domains:
            key = values[-1:] if self.by_host else values
            found[key] = found.get(key, 0) + count
        return found

    def first(self, pods: int) -> TopologyAssignment:
        """The assignment of the first so many pods, by the order of its domains."""
        domains, left = [], pods
        for values, count in self.domains:
            if left > 0:
                domains.append(AssignedDomain(values, min(count, left)))
                left -= count
        return TopologyAssignment(self.levels, tuple(domains))

    def without(self, *hosts: str) -> TopologyAssignment:
        """The assignment without the pods on these hosts."""
        return TopologyAssignment(self.levels, tuple(each for each in self.domains if each.values[-1] not in hosts))


def merged(
    one: TopologyAssignment, other: TopologyAssignment, paths: Mapping[DomainId, tuple[str, ...]] | None = None
) -> TopologyAssignment:
    """Both together. Domains are in the order of their paths as one string, as in Kueue.

    paths: the values of all levels of a domain, where the assignment has its host name alone.
    """
    known = paths or {}
    counts: dict[DomainId, int] = {}
    for values, count in chain(one.domains, other.domains):
        counts[values] = counts.get(values, 0) + count
    ordered = sorted(counts.items(), key=lambda item: ",".join(known.get(item[0], item[0])))
    return TopologyAssignment(one.levels, tuple(AssignedDomain(*item) for item in ordered), one.nodes + other.nodes)


def used_hosts(assignments: Iterable[TopologyAssignment]) -> set[str]:
    """The hosts with pods of these assignments; none where the lowest level is not the host name."""
    return {domain.values[-1] for assignment in assignments if assignment.by_host for domain in assignment.domains}


def net_counts(new: TopologyAssignment, before: TopologyAssignment | None) -> Mapping[DomainId, int]:
    """The pods that come on top of those that the present assignment has in the same domain."""
    held = before.counts() if before else {}
    grown = {domain: count - held.get(domain, 0) for domain, count in new.counts().items()}
    return {domain: count for domain, count in grown.items() if count > 0}
