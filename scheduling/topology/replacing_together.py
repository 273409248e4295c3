"""Finds new places for the pods of several failed nodes: for all pods, or for none.

Kueue replaces one node after the other, so a slice that lost pods on two nodes may end in two domains. Here the
remaining pods show how many pods each domain lacks for whole slices. These are placed there first. The rest are whole
slices, which are placed wherever the request allows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from scheduling.topology.assignment import DomainId, TopologyAssignment, merged
from scheduling.topology.domains import Domain, RoomDomain, TopologyTree
from scheduling.topology.placing import FlavorTopology, PlacedPods, stale_domain, use
from scheduling.topology.replacing import no_replacement, stale_places
from scheduling.topology.request import SliceLayer, TopologyRequest
from scheduling.topology.short_slice import short_last, short_slice

_Used: TypeAlias = dict[DomainId, dict[str, int]]


@dataclass(frozen=True, slots=True)
class LostPods:
    """A pod set that lost pods. `rest`: the remaining places. `count`: the number of lost pods."""

    pods: PlacedPods
    rest: TopologyAssignment
    count: int


class UncertainPlaces(ValueError):
    """A place of the remaining pods does not exist now, although its node is not unhealthy. The message names it."""


def replaced_together(
    flavor: FlavorTopology,
    group: Sequence[LostPods],
    beside: Sequence[TopologyAssignment],
    hosts: Collection[str],
    used: _Used,
) -> list[TopologyAssignment] | str:
    """The whole assignment of each member, without pods on `hosts`, or why there is none. Raises UncertainPlaces.

    group: one pod set, or the members of a group that lost pods.
    beside: the places of the members of the group that lost none.
    used: the new usage of other pod sets of the workload, by domain. The new usage of these pods is added.
    """
    unhealthy = frozenset(hosts)
    members = [replace(each, pods=_avoiding(each.pods, unhealthy)) for each in group]
    rests = [*beside, *(each.rest for each in members)]
    if any(rest.domains for rest in rests):
        within = _required_domain(flavor.tree, members[0].pods.request, rests)
        found = [_place_lost_pods(flavor, each, within, used) for each in members]
    else:
        found = _place_together(flavor, members, used)
    placed = [each for each in found if isinstance(each, TopologyAssignment)]
    if len(placed) == len(group):
        return placed
    return next((each for each in found if isinstance(each, str)), no_replacement(*hosts))


def _place_together(
    flavor: FlavorTopology, members: Sequence[LostPods], used: _Used
) -> list[TopologyAssignment | str | None]:
    """Place pod sets that lost all pods, together in any domain."""
    placed = flavor.place_group([replace(each.pods, count=each.count) for each in members], used)
    if isinstance(placed, str):
        return [placed]
    for each, assignment in zip(members, placed, strict=True):
        use(used, each.pods, assignment)
    return [each if each.pods == lost.count else None for lost, each in zip(members, placed, strict=True)]


def _avoiding(pods: PlacedPods, hosts: frozenset[str]) -> PlacedPods:
    return replace(pods, filter=replace(pods.filter, avoided=hosts))


def _required_domain(
    tree: TopologyTree, request: TopologyRequest, rests: Sequence[TopologyAssignment]
) -> Domain | None:
    """The domain of the required level that has the remaining pods; None if no level is required."""
    if request.required not in tree.levels:
        return None
    places = [domain.values for rest in rests for domain in rest.domains]
    known = next((found for found in map(tree.find, places) if found is not None), None)
    if known is None:
        raise UncertainPlaces(stale_places(places[0][0]))
    return tree.above(known, tree.levels.index(request.required))


@dataclass(frozen=True, slots=True)
class _Piece:
    """`count` pods that are placed together, in slices of these layers. `within`: the domain for them; None for any."""

    within: Domain | None
    layers: tuple[SliceLayer, ...]
    count: int


def _place_lost_pods(
    flavor: FlavorTopology, lost: LostPods, within: Domain | None, used: _Used
) -> TopologyAssignment | str | None:
    """The assignment with a new place for each lost pod, or why a pod has none.

    None if the lost pods do not make whole slices, or if a placement leaves pods out.
    """
    request, found = lost.pods.request, lost.rest
    short = short_slice(request, found.pods + lost.count) if flavor.gates.short_slices else 0
    pieces = _pieces(flavor.tree, lost, within, short)
    if pieces is None:
        return None
    for piece in pieces:
        pods = replace(lost.pods, count=piece.count, request=_cut(request, piece.layers))
        placed = flavor.place_group([pods], used, within=piece.within)
        if isinstance(placed, str):
            return placed
        if placed[0].pods < piece.count:
            return None
        use(used, pods, placed[0])
        found = merged(found, placed[0], flavor.tree.paths(found.domains + placed[0].domains))
    return short_last(flavor.tree, request, found) if short else found


def _pieces(tree: TopologyTree, lost: LostPods, within: Domain | None, short: int) -> list[_Piece] | None:
    """The lost pods in pieces by their domain, the smallest slices first. None if they do not make whole slices.

    short: the size of the short slice. If a domain may have the rest of it, it stays there.
    """
    layers = lost.pods.request.layers
    if not all(layer.topology in tree.levels and layer.size > 0 for layer in layers):
        return [_Piece(within, layers, lost.count)]
    pieces, left = [], lost.count
    present = _present(tree, lost.rest) if layers else Counter[Domain]()
    for at in range(len(layers) - 1, -1, -1):
        size, level = layers[at].size, tree.levels.index(layers[at].topology)
        present = _summed(tree, present, level)
        of_short = [domain for domain, count in present.items() if 0 < count % size <= short][-1:]
        for domain in sorted(present, key=lambda each: each.values):
            lacks = ((short if domain in of_short else 0) - present[domain]) % size
            if lacks:
                pieces.append(_Piece(domain, layers[at + 1 :], lacks))
                present[domain] += lacks
                left -= lacks
    if left < 0 or (layers and left % layers[0].size not in (0, short)):
        return None
    return [*pieces, _Piece(within, layers, left)] if left else pieces


def _present(tree: TopologyTree, rest: TopologyAssignment) -> Counter[Domain]:
    """The number of remaining pods by lowest domain. Raises UncertainPlaces."""
    stale = stale_domain(tree, rest)
    if stale is not None:
        raise UncertainPlaces(stale_places(stale))
    found = Counter[Domain]()
    for values, count in rest.domains:
        domain: RoomDomain | None = tree.find(values)
        if domain is not None:
            found[domain] += count
    return found


def _summed(tree: TopologyTree, present: Counter[Domain], level: int) -> Counter[Domain]:
    """The same numbers by domain of this level."""
    found = Counter[Domain]()
    for domain, count in present.items():
        found[tree.above(domain, level)] += count
    return found


def _cut(request: TopologyRequest, layers: tuple[SliceLayer, ...]) -> TopologyRequest:
    """The request with only these layers. Without layers and without a level, it is unconstrained."""
    anywhere = request.anywhere or not (request.required or request.preferred or layers)
    return replace(request, layers=layers, anywhere=anywhere)
