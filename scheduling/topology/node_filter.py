"""The nodes on which the pods of a template may run, by taints, node selector and affinity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from policies.dialects.node_affinity import preferred_terms, required_terms
from policies.dialects.node_reading import NodeReading
from policies.dialects.reading import listing, texts
from policies.dialects.selectors import Requirement
from policies.dialects.taints import Taint, Toleration, read_toleration
from scheduling.objects import amounts
from scheduling.topology.assignment import HOSTNAME

_NAME = "metadata.name"
_AVOIDED = "unhealthy"


@dataclass(frozen=True, slots=True)
class TopologyNode:
    """A Node that can take pods. `allocatable`: by resource, in base units (milli-CPU, bytes, whole devices)."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    allocatable: Mapping[str, int]


def topology_node(read: NodeReading) -> TopologyNode | None:
    """The node as topologies count it; None if it takes no pods because it is not Ready or is cordoned."""
    if not read.ready or read.unschedulable:
        return None
    return TopologyNode(read.name, read.labels, read.taints, amounts.counted(read.allocatable))


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """The requirements of pods on a node.

    terms: the required node affinity. One of the terms must match; None means any node.
    preferred: the preferred terms with their weights.
    avoided: the host names of nodes that are excluded in any case.
    """

    selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[tuple[Requirement, ...], ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    preferred: tuple[tuple[int, tuple[Requirement, ...]], ...] = ()
    avoided: frozenset[str] = frozenset()

    @property
    def selective(self) -> bool:
        """Whether it may exclude a node without taints."""
        return bool(self.selector or self.avoided) or self.terms is not None

    def obstacle(self, node: TopologyNode) -> str:
        """Why the pods may not run on the node, in Kueue's words; empty if they may. Taints come first."""
        if self.avoided and node.labels.get(HOSTNAME) in self.avoided:
            return _AVOIDED
        for taint in node.taints:
            if taint.repels and not any(each.tolerates(taint) for each in self.tolerations):
                return f'taint "{taint}"'
        labels = node.labels
        for key, value in self.selector:
            if labels.get(key) != value:
                return "nodeSelector"
        if self.terms is not None and not any(holds(term, node.name, labels) for term in self.terms):
            return "affinity"
        return ""

    def score(self, node: TopologyNode) -> int:
        """The sum of the weights of the preferred terms that match the node."""
        return sum(weight for weight, term in self.preferred if holds(term, node.name, node.labels))


ANY_NODE = NodeFilter()
"""The filter of pods without requirements and tolerations."""


def node_filter(spec: Mapping[str, Any], tolerated: Iterable[Toleration] = (), *, scored: bool = False) -> NodeFilter:
    """The filter of pods with this spec.

    `tolerated`: the flavor's tolerations. `scored`: whether preferred terms count.
    """
    return NodeFilter(
        selector=tuple(sorted(texts(spec.get("nodeSelector")).items())),
        terms=required_terms(spec),
        tolerations=(*map(read_toleration, listing(spec.get("tolerations"))), *tolerated),
        preferred=preferred_terms(spec) if scored else (),
    )


def holds(term: tuple[Requirement, ...], name: str, labels: Mapping[str, str]) -> bool:
    """Whether a node with this name and these labels meets the term of an affinity."""
    fields = {**labels, _NAME: name}
    return all(requirement.holds(fields) for requirement in term)
