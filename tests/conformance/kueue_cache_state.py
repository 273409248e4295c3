"""What Kueue's tables of its cache say of a tree and its Workloads, compared with a world."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scheduling.objects.amounts import UNLIMITED, FlavorResource
from scheduling.quota.node import QuotaNode
from scheduling.quota.tree import QuotaTree
from scheduling.world.world import World
from tests.conformance.suite import Data, mismatch


def amounts(found: Mapping[FlavorResource, int]) -> dict[str, object]:
    """As the cases write them; what is nothing is left out."""
    return {str(pair): "unlimited" if amount == UNLIMITED else amount for pair, amount in found.items() if amount}


def _nonzero(found: Mapping[str, object] | None) -> dict[str, object]:
    return {pair: amount for pair, amount in (found or {}).items() if amount}


def same_snapshot(expected: Data, world: World) -> str | None:
    queues = {name: queue for name, queue in world.state.queues.items() if not queue.inactive}
    cohorts = {name: node for name, node in world.state.tree.cohorts.items() if not world.state.tree.broken(node)}
    wrong = mismatch(sorted(expected.get("clusterQueues") or {}), sorted(queues))
    wrong = wrong or mismatch(sorted(expected.get("cohorts") or {}), sorted(cohorts))
    for name, shown in (expected.get("clusterQueues") or {}).items():
        wrong = wrong or _same_node(shown, queues[name].node)
    for name, shown in (expected.get("cohorts") or {}).items():
        wrong = wrong or _same_node(shown, cohorts[name])
    return wrong


def same_workloads(shown: Data, found: Iterable[str]) -> str | None:
    return mismatch(sorted(shown["workloads"] or ()), sorted(found)) if "workloads" in shown else None


def _same_node(shown: Data, node: QuotaNode) -> str | None:
    """What the case tells of a node."""
    parent = shown.get("parent") or shown.get("cohort")
    above = node.parent.name if node.parent else None
    wrong = mismatch(parent, above) if parent or "parent" in shown else None
    if "quotas" in shown:
        wrong = wrong or mismatch(_quotas(shown["quotas"]), _terms(node))
    if "fairWeight" in shown and node.explicit:
        wrong = wrong or mismatch(shown["fairWeight"] * 10**9, node.weight)
    wrong = wrong or mismatch(_nonzero(shown.get("subtreeQuota")), amounts(node.subtree))
    return wrong or mismatch(_nonzero(shown.get("usage")), amounts(node.usage))


def _quotas(shown: Data) -> dict[str, tuple[Any, Any, Any]]:
    return {
        pair: (quota.get("nominal", 0), quota.get("borrowingLimit"), quota.get("lendingLimit"))
        for pair, quota in (shown or {}).items()
    }


def _terms(node: QuotaNode) -> dict[str, tuple[Any, Any, Any]]:
    return {
        str(pair): tuple("unlimited" if amount == UNLIMITED else amount for amount in terms)  # type: ignore[misc]
        for pair, terms in node.terms.items()
    }


def same_state(shown: Data, world: World) -> str | None:
    tree = world.state.tree
    wrong = mismatch(sorted(shown.get("clusterQueues") or {}), sorted(tree.queues))
    wrong = wrong or mismatch(sorted(shown.get("cohorts") or {}), sorted(tree.cohorts))
    for name, expected in (shown.get("clusterQueues") or {}).items():
        wrong = wrong or _same_stored(expected, tree.queues[name], tree)
        wrong = wrong or same_workloads(expected, world.state.queues[name].reservations)
    for name, expected in (shown.get("cohorts") or {}).items():
        wrong = wrong or mismatch(expected["hasCycle"], bool(tree.broken(tree.cohorts[name])))
        wrong = wrong or _same_stored(expected, tree.cohorts[name], tree)
    return wrong


def _same_stored(expected: Data, node: QuotaNode, tree: QuotaTree) -> str | None:
    """Sums below a cycle mean nothing; only edges and the node's own numbers are compared there."""
    if tree.broken(node):
        own = {key: value for key, value in expected.items() if key not in ("subtreeQuota", "usage")}
        return mismatch(own.get("parent"), node.parent.name if node.parent else None) or mismatch(
            _quotas(own["quotas"]), _terms(node)
        )
    return _same_node(expected, node)
