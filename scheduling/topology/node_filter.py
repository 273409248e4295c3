"""The nodes on which the pods of a template may run, by taints, node selector and affinity."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from policies.dialects.go_values import read_integer
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

    def obstacles(self, nodes: Sequence[TopologyNode]) -> list[str]:
        """Why the pods may not run on each of the nodes, in Kueue's words; empty if they may. Taints come first."""
        untolerated = self._untolerated({taint for node in nodes for taint in node.taints})
        if not self.selective and not untolerated:
            return [""] * len(nodes)
        matches = _NodeIndex(nodes).meeting(self.terms) if self.terms is not None else [True] * len(nodes)
        return [self._obstacle(node, untolerated, met) for node, met in zip(nodes, matches, strict=True)]

    def _untolerated(self, taints: Iterable[Taint]) -> set[Taint]:
        return {taint for taint in taints if taint.repels and not taint.tolerated_by(self.tolerations)}

    def _obstacle(self, node: TopologyNode, untolerated: Container[Taint], met: bool) -> str:
        """The obstacle of one node. met: whether the node meets one of the terms."""
        if self.avoided and node.labels.get(HOSTNAME) in self.avoided:
            return _AVOIDED
        for taint in node.taints:
            if taint in untolerated:
                return f'taint "{taint}"'
        for key, value in self.selector:
            if node.labels.get(key) != value:
                return "nodeSelector"
        return "" if met else "affinity"

    def scores(self, nodes: Sequence[TopologyNode]) -> list[int]:
        """For each of the nodes, the sum of the weights of the preferred terms that match it."""
        index, scores = _NodeIndex(nodes), [0] * len(nodes)
        for weight, term in self.preferred:
            matches = index.meeting([term])
            scores = [score + weight if met else score for score, met in zip(scores, matches, strict=True)]
        return scores


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


def holds(term: Iterable[Requirement], name: str, labels: Mapping[str, str]) -> bool:
    """Whether a node with this name and these labels meets the term of an affinity."""
    fields = {**labels, _NAME: name}
    return all(requirement.holds(fields) for requirement in term)


class _NodeIndex:
    """Nodes by their labels. A set of nodes is an integer with a bit for each.

    So a requirement costs one operation for each of its values, and not a comparison with each node: a pod may have
    thousands of terms.
    """

    def __init__(self, nodes: Sequence[TopologyNode]) -> None:
        self._nodes = nodes
        self._all = (1 << len(nodes)) - 1
        self._by_key: dict[str, dict[str, int]] = {}  # by label key and value: the nodes with the label
        self._numbers: dict[str, dict[str, int]] = {}  # the same for the values that are integers

    def meeting(self, terms: Iterable[Iterable[Requirement]]) -> list[bool]:
        """Whether each node meets one of the terms, in the order of the nodes."""
        found = _union(self._meeting(term) for term in terms)
        return [bit == "1" for bit in f"{found:0{len(self._nodes)}b}"[::-1]][: len(self._nodes)]

    def _meeting(self, term: Iterable[Requirement]) -> int:
        found = self._all
        for requirement in term:
            found &= self._with(requirement)
        return found

    def _with(self, requirement: Requirement) -> int:
        """The nodes that meet the requirement. A node without the label meets NotIn and DoesNotExist."""
        key, operator = requirement.key, requirement.operator
        known = self._known(key)
        if operator in ("In", "NotIn"):
            found = _union(known.get(value, 0) for value in requirement.values)
        elif operator in ("Exists", "DoesNotExist"):
            found = _union(known.values())
        else:  # Gt or Lt: only an integer meets it
            found = _union(nodes for value, nodes in self._integers(key).items() if requirement.holds({key: value}))
        return self._all & ~found if operator in ("NotIn", "DoesNotExist") else found

    def _known(self, key: str) -> dict[str, int]:
        """The nodes by their value for the key."""
        found = self._by_key.get(key)
        if found is None:
            found = self._by_key[key] = {}
            for at, node in enumerate(self._nodes):
                value = node.name if key == _NAME else node.labels.get(key)
                if value is not None:
                    found[value] = found.get(value, 0) | 1 << at
        return found

    def _integers(self, key: str) -> dict[str, int]:
        """The same for the values that are integers."""
        found = self._numbers.get(key)
        if found is None:
            known = self._known(key).items()
            found = self._numbers[key] = {value: nodes for value, nodes in known if read_integer(value, 64) is not None}
        return found


def _union(sets: Iterable[int]) -> int:
    return reduce(or_, sets, 0)
