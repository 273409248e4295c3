"""New places for the pods of a node that failed; the other pods of the workload stay where they are.

Kueue does not exclude the failed node itself. A node that is still Ready, with a taint that the pods tolerate, may get
them again. Where several broken slices could be repaired, Kueue takes any; here it is the first in path order.
"""

from __future__ import annotations

from dataclasses import replace

from scheduling.topology.assignment import DomainId, TopologyAssignment, merged
from scheduling.topology.domains import Domain, RoomDomain, TopologyTree
from scheduling.topology.placing import FlavorTopology, PlacedPods, stale_domain, use
from scheduling.topology.request import SliceLayer, TopologyRequest
from scheduling.topology.short_slice import short_last, slice_domains, slices_whole


def replaced(
    flavor: FlavorTopology,
    pods: PlacedPods,
    present: TopologyAssignment,
    host: str,
    used: dict[DomainId, dict[str, int]],
    *,
    movable: bool = True,
) -> TopologyAssignment | str:
    """The whole assignment with the pods of `host` elsewhere, or why there is none.

    used: what other pod sets of the workload take anew, by domain; what these pods take anew is added. movable: False
    for a Pod by itself, which cannot start again elsewhere; it keeps its place.
    """
    if not movable:
        return present
    rest = present.without(host)
    lost = present.pods - rest.pods
    stale = stale_domain(flavor.tree, rest)
    if stale:
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
    """Why the others cannot be replaced while this domain of the workload is not there."""
    return (
        "Cannot replace the node, because the existing topologyAssignment is invalid, "
        f"as it contains the stale domain {domain}"
    )


def _required_domain(
    flavor: FlavorTopology, request: TopologyRequest, rest: TopologyAssignment, lost: int
) -> tuple[Domain | None, bool]:
    """The domain that the pods have to stay in, and whether they are part of a slice there. None: anywhere."""
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
        return tree.above(_lowest(tree, rest.domains[0].values), level), False
    return None, False


def _broken_layer(request: TopologyRequest, lost: int) -> SliceLayer | None:
    """The innermost layer that lost a partial slice; None if only whole slices were lost."""
    broken = [layer for layer in request.layers if layer.size > 0 and lost % layer.size]
    return broken[-1] if broken else None


def _broken_slice(flavor: FlavorTopology, layer: SliceLayer, rest: TopologyAssignment, lost: int) -> Domain | None:
    """The domain in which the lost pods make up whole slices again, except the short one; the first one if several do.

    None if the short slice itself was lost: it may go to another domain.
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
    """The request for the lost pods alone. If slices are broken, the innermost layer that divides the pods counts."""
    if _broken_layer(request, lost) is None:
        return request
    whole = [layer for layer in request.layers if layer.size > 0 and lost % layer.size == 0]
    return replace(request, layers=tuple(whole[-1:]))


def _lowest(tree: TopologyTree, values: tuple[str, ...]) -> RoomDomain:
    found = tree.find(values[-1:] if tree.by_host else values)
    assert found is not None, "the assignment is not stale"
    return found
