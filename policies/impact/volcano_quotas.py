"""Computes the quota of Volcano queues from manifests.

The quota of root is the sum of the Nodes, which no manifest has. Without a capability, root counts as unlimited.
Source: Volcano's capacity plugin with hierarchy: realCapability.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf

from policies.amounts.real_capability import real_capability
from policies.dialects.volcano import ROOT, Queue
from policies.dialects.volcano_resources import limits
from policies.impact.quotas import NodeQuotas, PairQuota, QuotaPair
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.model.quantity import Quantity


def resources(forest: Forest) -> set[str]:
    queues = (node for node in forest.nodes() if isinstance(node, Queue))
    return {name for queue in queues for name in (*queue.guarantee, *queue.deserved, *queue.capability)}


def volcano_quotas(forest: Forest, listed: Iterable[str]) -> dict[Ref, NodeQuotas]:
    """The quota of all queues, for the `listed` resources."""
    names = sorted(listed)
    reach: dict[Ref, dict[str, float]] = {}
    found = {}
    for node in forest.nodes():
        if isinstance(node, Queue):
            amounts = {QuotaPair("", name): _quota(forest, node, name, reach) for name in names}
            found[node.ref] = NodeQuotas(node.ref, node.parent.name if node.parent else "", amounts)
    return found


def _quota(forest: Forest, queue: Queue, resource: str, known: dict[Ref, dict[str, float]]) -> PairQuota:
    """The quota of a queue, with at least its guarantee, for one resource. Root has the sum of its children."""
    below = forest.below(queue.ref)
    deserved, guaranteed = _nano(queue.deserved, resource), _nano(queue.guarantee, resource)
    if queue.ref == ROOT:
        deserved, guaranteed = None, below.kept.get(resource, 0)
    reach = _reach(forest, queue.ref, resource, known)
    return PairQuota(
        own=deserved or 0,
        subtree=max(below.nominal.get(resource, 0) if deserved is None else deserved, guaranteed or 0),
        guaranteed=guaranteed or 0,
        reach=None if reach == inf else int(reach),
    )


def _nano(amounts: Mapping[str, Quantity], resource: str) -> int | None:
    found = amounts.get(resource)
    return found.nano if found is not None else None


def _reach(forest: Forest, ref: Ref, resource: str, known: dict[Ref, dict[str, float]]) -> float:
    """The realCapability of a queue. It walks up to the first known ancestor and down again, and stops at a cycle."""
    path = [ref]
    for above in forest.ancestors(ref):
        if resource in known.get(path[-1], {}):
            break
        path.append(above)
    left = inf
    for here in reversed(path):
        of_node = known.setdefault(here, {})
        if resource not in of_node:
            of_node[resource] = _cut(forest, here, resource, left)
        left = of_node[resource]
    return left


def _cut(forest: Forest, ref: Ref, resource: str, above: float) -> float:
    node = forest.node(ref)
    if not isinstance(node, Queue):
        return above
    own = _nano(node.capability, resource)
    if ref == ROOT:  # its capability limits all resources, also those that it does not name
        return (own or 0) if any(node.limits()) else inf
    promised = forest.below(node.parent).kept.get(resource, 0) if node.parent is not None else 0
    capability = own if own is not None and limits(resource, own) else inf
    return real_capability(above, promised, _nano(node.guarantee, resource) or 0, capability)
