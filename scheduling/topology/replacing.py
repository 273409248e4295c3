"""Finds new places for the pods of a failed node. The other pods of the workload keep their places.

Kueue does not exclude the failed node: if it is still Ready and the pods tolerate its taint, it may get them again. If
the pods fit several broken slices, Kueue chooses any of them. Here it is the first in path order.
"""

from __future__ import annotations

from dataclasses import replace

from scheduling.topology.assignment import DomainId, TopologyAssignment, merged
from scheduling.topology.domains import Domain
from scheduling.topology.placing import FlavorTopology, PlacedPods, stale_domain, use
from scheduling.topology.request import SliceLayer, TopologyRequest
from scheduling.topology.short_slice import domain_above, short_last, slice_domains, slices_whole


def replaced(
    flavor: FlavorTopology,
    pods: PlacedPods,
    present: TopologyAssignment,
    host: str,
    used: dict[DomainId, dict[str, int]],
    *,
    movable: bool = True,
) -> TopologyAssignment | str:
    """The whole assignment with other places for the pods of `host`, or why there is none.

    used: the new usage of other pod sets of the workload, by domain. The new usage of these pods is added.
    movable: False for a single Pod without a job, which cannot be recreated elsewhere and keeps its place.
    """
    if not movable:
        return present
    rest = present.without(host)
    lost = present.pods - rest.pods
    stale = stale_domain(flavor.tree, rest)
    if stale is not None:
        return stale_places(stale)
    within, broken = _required_domain(flavor, pods.request, rest, lost)
    request = _recut(pods.request, lost) if broken else pods.request
    found = flavor.place_group([replace(pods, count=lost, request=request)], used, within=within)
    if isinstance(found, str):
        return found
    if not found[0].domains:
        return no_replacement(host)
    whole = merged(rest, found[0], flavor.tree.paths(rest.domains + found[0].domains))
    if flavor.gates.short_slices:
        whole = short_last(flavor.tree, pods.request, whole)
        if not slices_whole(flavor.tree, pods.request, whole):
            return f"cannot replace the node {host} without splitting a PodSet slice"
    use(used, pods, found[0])
    return whole


def no_replacement(*hosts: str) -> str:
    return f"cannot find replacement assignment for unhealthy node: {', '.join(hosts)}"


def stale_places(domain: str) -> str:
    """The message that no node can be replaced while the workload has a place in this missing domain."""
    return (
        "Cannot replace the node, because the existing topologyAssignment is invalid, "
        f"as it contains the stale domain {domain}"
    )


def _required_domain(
    flavor: FlavorTopology, request: TopologyRequest, rest: TopologyAssignment, lost: int
) -> tuple[Domain | None, bool]:
    """The domain in which the pods have to stay, None for any, and whether they belong to a broken slice there."""
    tree = flavor.tree
    if not rest.domains:
        return None, False
    layer = _broken_layer(request, lost)
    if layer is not None:
        found = _broken_slice(flavor, layer, rest, lost) if layer.topology in tree.levels else None
        if found is not None or not flavor.gates.short_slices:
            return found, found is not None
    if request.required in tree.levels:
        level = tree.levels.index(request.required)
        return domain_above(tree, rest.domains[0].values, level), False
    return None, False


def _broken_layer(request: TopologyRequest, lost: int) -> SliceLayer | None:
    """The innermost layer with a slice that lost only some of its pods; None if only whole slices were lost."""
    broken = [layer for layer in request.layers if layer.size > 0 and lost % layer.size]
    return broken[-1] if broken else None


def _broken_slice(flavor: FlavorTopology, layer: SliceLayer, rest: TopologyAssignment, lost: int) -> Domain | None:
    """The first domain in path order in which the lost pods complete the slices, apart from the short one.

    None if there is none, or if the short slice itself was lost: it may go to another domain.
    """
    present = slice_domains(flavor.tree, layer, rest)
    short = (rest.pods + lost) % layer.size if flavor.gates.short_slices else 0
    if not short:
        whole = (domain for domain, count in present.items() if (count + lost) % layer.size == 0)
        return min(whole, key=lambda domain: domain.values, default=None)
    rests = {domain: count % layer.size for domain, count in present.items() if count % layer.size}
    for domain in sorted(rests, key=lambda each: each.values):
        others = [left for each, left in rests.items() if each is not domain]
        restored = (rests[domain] + lost) % layer.size
        if sorted(filter(None, (restored, *others))) == [short]:
            return domain
    return None


def _recut(request: TopologyRequest, lost: int) -> TopologyRequest:
    """The request for only the lost pods. If a slice is broken, it has only the innermost layer that divides them."""
    if _broken_layer(request, lost) is None:
        return request
    whole = [layer for layer in request.layers if layer.size > 0 and lost % layer.size == 0]
    return replace(request, layers=tuple(whole[-1:]))
