"""A topology assignment: the domains of a pod set, with the number of its pods in each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, TypeAlias

HOSTNAME = "kubernetes.io/hostname"
"""The level of a Topology at which a domain is one node."""

DomainId: TypeAlias = tuple[str, ...]
"""The values of a lowest domain, level by level. If the lowest level is the host name, only the host name."""


class AssignedDomain(NamedTuple):
    """A domain with pods. `values`: one for each level of the assignment. `pods`: how many run there."""

    values: DomainId
    pods: int


@dataclass(frozen=True, slots=True)
class TopologyAssignment:
    """The assignment of a pod set.

    levels: keys of node labels, either all levels of the Topology or only the host name.
    domains: in path order.
    nodes: the nodes below these domains on which the pods were counted. They are not stored in the Workload, so only
        other pods of the same workload take them into account.
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
        return sum(domain.pods for domain in self.domains)

    def counts(self) -> dict[DomainId, int]:
        """The number of pods by domain. In a topology of hosts, the key of a domain is only the host name."""
        found: dict[DomainId, int] = {}
        for values, count in self.domains:
            key = values[-1:] if self.by_host else values
            found[key] = found.get(key, 0) + count
        return found

    def first(self, pods: int) -> TopologyAssignment:
        """The assignment of the first `pods` pods, in the order of its domains."""
        domains, left = [], pods
        for values, count in self.domains:
            if left > 0:
                domains.append(AssignedDomain(values, min(count, left)))
                left -= count
        return TopologyAssignment(self.levels, tuple(domains))

    def without(self, *hosts: str) -> TopologyAssignment:
        return TopologyAssignment(self.levels, tuple(each for each in self.domains if each.values[-1] not in hosts))


def merged(
    one: TopologyAssignment, other: TopologyAssignment, paths: Mapping[DomainId, tuple[str, ...]] | None = None
) -> TopologyAssignment:
    """Both assignments together. Domains are sorted by their paths as one string, as in Kueue.

    paths: the values of all levels of a domain, if the assignment only has its host name.
    """
    known = paths or {}
    counts: dict[DomainId, int] = {}
    for values, count in chain(one.domains, other.domains):
        counts[values] = counts.get(values, 0) + count
    ordered = sorted(counts.items(), key=lambda item: ",".join(known.get(item[0], item[0])))
    return TopologyAssignment(one.levels, tuple(AssignedDomain(*item) for item in ordered), one.nodes + other.nodes)


def used_hosts(assignments: Iterable[TopologyAssignment]) -> set[str]:
    """The hosts with pods of these assignments; empty if the lowest level is not the host name."""
    return {domain.values[-1] for assignment in assignments if assignment.by_host for domain in assignment.domains}


def net_counts(new: TopologyAssignment, before: TopologyAssignment | None) -> Mapping[DomainId, int]:
    """The number of pods by domain that `new` has beyond the assignment `before`."""
    held = before.counts() if before else {}
    grown = {domain: count - held.get(domain, 0) for domain, count in new.counts().items()}
    return {domain: count for domain, count in grown.items() if count > 0}
