"""The quota trees as JSON: each node with its quota, its usage, its borrowing, and its pending workloads.

The fields are those of `quotree tree -o json`. A ClusterQueue also has the reason why it admits nothing, and the time
at which work began to wait there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from cluster.api.document import ApiDocument, SharedEntry
from policies.dialects.kueue import CLUSTER_QUEUE, COHORT
from policies.model.pools import Terms
from scheduling.flavors.messages import amount_text
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.queue_settings import NO_STOP
from scheduling.objects.times import rfc3339 as time_of
from scheduling.quota.node import QuotaNode
from scheduling.world.nodes import NO_WORKLOADS, InUse, NodeName, NodeState, WorkloadCounts, below, nodes, sums_below
from scheduling.world.world import World

API_VERSION = "quotree.dev/v1alpha1"
_NOTHING = InUse(0, 0)


@dataclass(frozen=True, slots=True)
class _NodeFacts:
    """Everything that the JSON of a node depends on.

    `in_use`, `counts`: the usage and the number of workloads in its subtree.
    `nominal`: the nominal quota in the subtree of a Cohort.
    """

    state: NodeState
    in_use: Mapping[FlavorResource, InUse]
    counts: WorkloadCounts
    children: Sequence[str] = ()
    nominal: Mapping[FlavorResource, int] = field(default_factory=dict)

    def entry(self) -> SharedEntry:
        return SharedEntry(
            dialect="Kueue",
            kind=(CLUSTER_QUEUE if self.state.is_queue else COHORT).kind,
            name=self.state.name,
            exists=self.state.exists,
            parent=self.state.parent,
            children=[*self.children],
            quota=_quota(self.state, self.nominal, self.in_use),
            workloads=workloads_json(self.counts),
            **_condition(self.state),
        )


class TreeDocuments:
    """Makes the JSON of all trees. Only nodes that have changed since the last call are made again."""

    def __init__(self) -> None:
        self._last: tuple[list[NodeState], ApiDocument] = [], ApiDocument()
        self._nodes: Mapping[NodeName, tuple[_NodeFacts, SharedEntry]] = {}

    def document(self, states: list[NodeState]) -> ApiDocument:
        """The same document as `tree_json`."""
        before, document = self._last
        if document and states == before:
            return document
        known, nodes = self._nodes, {}
        for facts in _facts(states):
            key = (facts.state.is_queue, facts.state.name)
            earlier = known.get(key)
            nodes[key] = earlier if earlier is not None and earlier[0] == facts else (facts, facts.entry())
        document = ApiDocument(_all_json(states, [entry for _, entry in nodes.values()]))
        self._last, self._nodes = (states, document), nodes
        return document


def tree_json(states: list[NodeState]) -> dict[str, Any]:
    """All trees. The nodes are sorted by name, Cohorts before ClusterQueues."""
    return _all_json(states, [facts.entry() for facts in _facts(states)])


def _facts(states: list[NodeState]) -> Iterator[_NodeFacts]:
    found, children, nominal = below(states), _children(states), sums_below(states, _nominal)
    for state in states:
        name = state.name
        if state.is_queue:
            yield _NodeFacts(state, found.queues.get(name, {}), found.queue_counts.get(name, NO_WORKLOADS))
        else:
            in_use, counts = found.cohorts.get(name, {}), found.cohort_counts.get(name, NO_WORKLOADS)
            yield _NodeFacts(state, in_use, counts, children.get(name, ()), nominal.get(name, {}))


def _all_json(states: list[NodeState], nodes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    cycle = [state.name for state in states if state.on_cycle and not state.is_queue]
    return {**nodes_json([*nodes]), "onCycles": cycle}


def namespace_tree(world: World, namespace: str) -> dict[str, Any]:
    """The ClusterQueues of a namespace's LocalQueues, and only the names of the Cohorts above them.

    The time at which work began to wait is omitted, because the work may belong to others.
    """
    wanted = {queue.cluster_queue for queue in world.queues.local_queues_in(namespace)}
    states = [replace(each, oldest=None) for each in nodes(world, [(True, name) for name in sorted(wanted)])]
    children: dict[QuotaNode, set[str]] = {}
    for state in states:
        path = world.state.tree.queues[state.name].path()
        for lower, upper in pairwise(path):
            children.setdefault(upper, set()).add(lower.name)
    cohorts = [_cohort(each, children[each]) for each in sorted(children, key=lambda each: each.name)]
    return nodes_json([*cohorts, *tree_json(states)["nodes"]])


def _cohort(node: QuotaNode, children: Iterable[str]) -> dict[str, Any]:
    parent = node.up.name if node.up is not None else None
    named = {"dialect": "Kueue", "kind": COHORT.kind, "name": node.name, "exists": node.explicit}
    return {**named, "parent": parent, "children": sorted(children), "quota": []}


def nodes_json(nodes: list[dict[str, Any]]) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": "Tree", "nodes": nodes}


def _condition(state: NodeState) -> dict[str, str]:
    """Why the ClusterQueue admits nothing, and when work began to wait; fields without a value are omitted."""
    stopped = {"stopPolicy": state.stop_policy} if state.stop_policy != NO_STOP else {}
    inactive = {"inactive": state.inactive} if state.inactive else {}
    return {**stopped, **inactive, **({"oldestPending": time_of(state.oldest)} if state.oldest is not None else {})}


def workloads_json(counts: WorkloadCounts) -> dict[str, int]:
    return {"pending": counts.pending, "reserving": counts.reserving, "admitted": counts.admitted}


def _children(states: Iterable[NodeState]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for state in states:
        if state.parent is not None:
            found.setdefault(state.parent, []).append(state.name)
    return {name: sorted(children) for name, children in found.items()}


def _nominal(state: NodeState) -> Mapping[FlavorResource, int]:
    return {pair: terms.nominal for pair, terms in state.terms.items()}


def _quota(
    state: NodeState, nominal: Mapping[FlavorResource, int], in_use: Mapping[FlavorResource, InUse]
) -> list[dict[str, Any]]:
    pairs = [*state.terms, *sorted({*nominal, *in_use} - state.terms.keys())]
    return [
        {
            "flavor": pair.flavor,
            "resource": pair.resource,
            "own": {**_own(pair, state.terms.get(pair)), **in_use_json(pair, in_use.get(pair, _NOTHING))},
            "children": {"nominalQuota": amount_text(pair.resource, nominal[pair])} if pair in nominal else {},
        }
        for pair in pairs
    ]


def _own(pair: FlavorResource, terms: Terms | None) -> dict[str, str]:
    if terms is None:
        return {}
    amounts = {"nominalQuota": terms.nominal, "borrowingLimit": terms.borrowing, "lendingLimit": terms.lending}
    return {word: amount_text(pair.resource, amount) for word, amount in amounts.items() if amount is not None}


def in_use_json(pair: FlavorResource, use: InUse) -> dict[str, str]:
    beyond = {"borrowed": use.borrowed, "over": use.over}
    found = {word: amount_text(pair.resource, amount) for word, amount in beyond.items() if amount}
    return {"used": amount_text(pair.resource, use.used), **found}
