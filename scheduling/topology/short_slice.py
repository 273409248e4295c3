"""The short slice: the last pods of a pod set whose size is not a multiple of the slice size.

Pods get their places by rank, in the order of the domains. So the short slice is together only if its domain is the
last one. Source: the release notes of Kueue v0.20, gate TASPartialSlices.
"""

from __future__ import annotations

from dataclasses import replace

from scheduling.topology.assignment import TopologyAssignment
from scheduling.topology.domains import Domain, TopologyTree
from scheduling.topology.request import SliceLayer, TopologyRequest


def short_slice(request: TopologyRequest, pods: int) -> int:
    """The number of pods in the short slice; 0 if there is none. Requests with several layers have no short slice."""
    size = request.layers[0].size if len(request.layers) == 1 else 0
    return pods % size if size > 0 else 0


def slice_domains(tree: TopologyTree, layer: SliceLayer, assignment: TopologyAssignment) -> dict[Domain, int]:
    """The number of pods by domain of the level of slices, in the order of the assignment.

    All its domains must exist.
    """
    level = tree.levels.index(layer.topology)
    found: dict[Domain, int] = {}
    for values, count in assignment.domains:
        domain = domain_above(tree, values, level)
        found[domain] = found.get(domain, 0) + count
    return found


def short_last(tree: TopologyTree, request: TopologyRequest, assignment: TopologyAssignment) -> TopologyAssignment:
    """The assignment with the domain of the short slice at the end; unchanged without a short slice."""
    short = short_slice(request, assignment.pods)
    if not short:
        return assignment
    layer = request.layers[0]
    level = tree.levels.index(layer.topology)
    counts = slice_domains(tree, layer, assignment)
    last = next((domain for domain, count in counts.items() if count % layer.size == short), None)
    ordered = sorted(assignment.domains, key=lambda each: domain_above(tree, each.values, level) is last)
    return replace(assignment, domains=tuple(ordered))


def slices_whole(tree: TopologyTree, request: TopologyRequest, assignment: TopologyAssignment) -> bool:
    """Whether each domain has only whole slices, except that the last one may have the short slice, too."""
    if not request.layers or not assignment.domains:
        return True
    layer = request.layers[0]
    *others, last = slice_domains(tree, layer, assignment).values()
    return not any(count % layer.size for count in others) and last % layer.size == assignment.pods % layer.size


def domain_above(tree: TopologyTree, values: tuple[str, ...], level: int) -> Domain:
    """The domain of this level with an assigned domain, which must exist."""
    lowest = tree.find(values[-1:] if tree.by_host else values)
    assert lowest is not None
    return tree.above(lowest, level)
