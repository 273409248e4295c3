"""Why pods have no place in a topology, in Kueue's words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from policies.dialects.labels import is_label_value
from scheduling.topology.counting import DomainCounts
from scheduling.topology.domains import Domain, LowestDomain, TopologyTree
from scheduling.topology.node_filter import NodeFilter
from scheduling.topology.request import SliceLayer, TopologyRequest

_LONGEST_VALUE = 63
_LABEL_VALUE = re.compile("(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_NO_LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'{_LABEL_VALUE.pattern}')"
)


def group_fault(counts: Sequence[int]) -> str:
    """The fault of a group of pod sets with these sizes; empty if there is none.

    Kueue's webhooks for jobs refuse such groups. A Workload that is created directly can have one.
    """
    if len(counts) > 2:
        return f"can only define groups of exactly 2 pod sets, got: {len(counts)} pod set(s)"
    if len(counts) == 2 and min(counts) != 1:
        replicas = f"{counts[0]} replica(s) and {counts[1]} replica(s) in the group"
        return f"can only define groups where at least one pod set has only 1 replica, got: {replicas}"
    return ""


def request_fault(request: TopologyRequest, levels: Sequence[str]) -> str:
    """The fault of the request in a topology with these levels, coarsest first; empty if there is none."""
    level, layers = request.level(levels), request.layers
    if layers and layers[0].size <= 0:
        return "slice topology requested, but slice size not provided"
    if not level:
        return "topology level not specified"
    if level not in levels:
        return f"no requested topology level: {level}"
    if not layers:
        return ""
    first = layers[0]
    if first.topology not in levels:
        return f"no requested topology level for slices: {first.topology}"
    if levels.index(first.topology) < levels.index(level):
        return f"podset slice topology {first.topology} is above the podset topology {level}"
    return next(filter(None, (_layer_fault(before, layer, levels) for before, layer in pairwise(layers))), "")


def _layer_fault(before: SliceLayer, layer: SliceLayer, levels: Sequence[str]) -> str:
    if layer.topology not in levels:
        return f"no requested topology level for additional slice layer: {layer.topology}"
    if levels.index(layer.topology) <= levels.index(before.topology):
        return f"additional slice layer topology {layer.topology} must be at a lower level than {before.topology}"
    if layer.size <= 0 or before.size % layer.size:
        return f"additional slice layer size {layer.size} must evenly divide parent layer size {before.size}"
    return ""


def update_conflict(pod_set: str, field: str, key: str, before: str, added: str) -> str:
    """The message for an admission check that adds a key which the template has with another value."""
    conflict = f"conflict for {field}: conflict for key={key}, value1={before}, value2={added}"
    return f"invalid podSetUpdate for PodSet {pod_set}, error: invalid admission check PodSetUpdate: {conflict}"


def selector_fault(asked: NodeFilter) -> str:
    """The message for the first value of a node selector, by key, that no label can have; empty if there is none.

    The API server accepts such a value in a Workload. Of several, Kueue names one at random.
    """
    wrong = next(((key, value) for key, value in asked.selector if not is_label_value(value)), None)
    if wrong is None:
        return ""
    shown = " ".join(f"{key}:{value}" for key, value in asked.selector)
    return f"invalid node selectors: map[{shown}], reason: {_bad_label(*wrong)}"


def _bad_label(key: str, value: str) -> str:
    faults = [f"must be no more than {_LONGEST_VALUE} bytes"] if len(value.encode()) > _LONGEST_VALUE else []
    faults += [] if _LABEL_VALUE.fullmatch(value) else [_NO_LABEL_VALUE]
    return f'values[0][{key}]: Invalid value: "{value}": {"; ".join(faults)}'


def fits_only(name: str, fitting: int, wanted: int, unit: str, nodes: int, excluded: Mapping[str, int]) -> str:
    """The message that only `fitting` of the `wanted` units fit. Kueue counts the room without the leader."""
    if fitting == 0:
        text = f'topology "{name}" doesn\'t allow to fit any of {wanted} {unit}(s)'
    else:
        text = f'topology "{name}" allows to fit only {fitting} out of {wanted} {unit}(s)'
    return text + _tail(nodes, excluded)


def layers_fit_only(
    name: str,
    tree: TopologyTree,
    counts: DomainCounts,
    level: int,
    pods: int,
    layers: Sequence[SliceLayer],
    excluded: Mapping[str, int],
) -> str:
    """The message with the number of slices of each layer that fit into the best domain of the level."""
    best = min(tree.at_level(level), key=lambda domain: (-counts.slices[domain], _id(tree, domain)))
    layer_texts = []
    for layer in layers:
        below = (each for each in tree.at_level(tree.levels.index(layer.topology)) if each.is_within(best))
        fitting = sum(counts.pods[each] // layer.size for each in below)
        layer_texts.append(f"; {fitting}/{pods // layer.size} slice(s) fit on level {layer.topology}")
    return f'topology "{name}" doesn\'t allow to fit{"".join(layer_texts)}' + _tail(tree.size, excluded)


def _id(tree: TopologyTree, domain: Domain) -> str:
    host = tree.by_host and isinstance(domain, LowestDomain)
    return domain.values[-1] if host else ",".join(domain.values)


def _tail(nodes: int, excluded: Mapping[str, int]) -> str:
    if not excluded:
        return ""
    reasons = ", ".join(sorted(f"{reason}: {count}" for reason, count in excluded.items()))
    return f". Total nodes: {nodes}; excluded: {reasons}"
