"""What each Volcano queue has, as far as manifests say it.

Root has what the machines have, which no manifest says: without a capability it counts as unlimited.
Source: Volcano's capacity plugin with hierarchy: realCapability.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from policies.dialects.volcano import ROOT, Queue
from policies.impact.quotas import NodeQuotas, Pair, Quota
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.model.quantity import Quantity

_NEVER_SHUT = ("cpu", "memory")
"""Resources of which a capability of 0 counts as none; of any other it shuts the queue out."""


def resources(forest: Forest) -> set[str]:
    """The resources that any queue names."""
    queues = (node for node in forest.nodes() if isinstance(node, Queue))
    return {name for queue in queues for amounts in _written(queue) for name in amounts}


def volcano_quotas(forest: Forest, listed: Iterable[str]) -> dict[Ref, NodeQuotas]:
    """The queues with their quota of the `listed` resources."""
    names = sorted(listed)
    reach: dict[Ref, dict[str, int | None]] = {}
    found = {}
    for node in forest.nodes():
        if isinstance(node, Queue):
            amounts = {Pair("", name): _quota(forest, node, name, reach) for name in names}
            found[node.ref] = NodeQuotas(node.ref, node.parent.name if node.parent else "", amounts)
    return found


def _written(queue: Queue) -> tuple[Mapping[str, object], ...]:
    return queue.guarantee, queue.deserved, queue.capability


def _quota(forest: Forest, queue: Queue, resource: str, known: dict[Ref, dict[str, int | None]]) -> Quota:
    """Root has what its children have, whatever its manifest says. Nobody deserves less than the guarantee."""
    below = forest.below(queue.ref)
    deserved, guaranteed = _nano(queue.deserved, resource), _nano(queue.guarantee, resource)
    if queue.ref == ROOT:
        deserved, guaranteed = None, below.kept.get(resource, 0)
    return Quota(
        own=deserved or 0,
        subtree=max(below.nominal.get(resource, 0) if deserved is None else deserved, guaranteed or 0),
        guaranteed=guaranteed or 0,
        reach=_reach(forest, queue.ref, resource, known),
    )


def _nano(amounts: Mapping[str, Quantity], resource: str) -> int | None:
    found = amounts.get(resource)
    return found.nano if found is not None else None


def _reach(forest: Forest, ref: Ref, resource: str, known: dict[Ref, dict[str, int | None]]) -> int | None:
    """realCapability: what the parent has left after the guarantees of its other children, cut to the capability.

    Walks up to the first node that is known, then down again. On a cycle the way up ends where it closes.
    """
    path = [ref]
    for above in forest.ancestors(ref):
        if resource in known.get(path[-1], {}):
            break
        path.append(above)
    left: int | None = None
    for here in reversed(path):
        of_node = known.setdefault(here, {})
        if resource not in of_node:
            of_node[resource] = _cut(forest, here, resource, left)
        left = of_node[resource]
    return left


def _cut(forest: Forest, ref: Ref, resource: str, above: int | None) -> int | None:
    node = forest.node(ref)
    if not isinstance(node, Queue):
        return above
    if ref == ROOT:  # a capability there limits every resource, also one that it does not name
        return (_nano(node.capability, resource) or 0) if any(node.limits()) else None
    if above is not None and node.parent is not None:
        kept = forest.below(node.parent).kept.get(resource, 0)
        above = max(0, above - kept) + (_nano(node.guarantee, resource) or 0)
    limit = _nano(node.capability, resource)
    if limit is None or (not limit and resource in _NEVER_SHUT):
        return above
    return limit if above is None else min(above, limit)
