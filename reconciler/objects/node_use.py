"""What Pods outside topologies request of each Node, in a file that has the Nodes and not the Pods.

It is one sum for each Node, in its status: `requested`, quantities by resource, `pods` among them. No Pod is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from policies.dialects.reading import Manifest, mapping, metadata
from reconciler.objects.observed import Observed
from reconciler.objects.topology_views import POD_ON_NODE_VIEW, PodOnNode
from scheduling.objects import amounts
from scheduling.topology.counting import PODS, pod_request

_REQUESTED = "requested"

NodeUse: TypeAlias = Mapping[str, Mapping[str, int]]
"""Amounts in base units by resource, `pods` among them, by Node. A Node without such Pods is missing."""


def use_of(pods: Iterable[PodOnNode]) -> NodeUse:
    """The sums of these Pods."""
    found: dict[str, dict[str, int]] = {}
    for pod in pods:
        amounts.add_to(found.setdefault(pod.node, {}), dict(pod_request(pod.requests)))
    return found


def with_use(node: Mapping[str, Any], use: NodeUse) -> dict[str, Any]:
    """The manifest of the Node with what is used of it; no Pods are written too, since that is known."""
    used = {PODS: 0, **use.get(str(metadata(node).get("name")), {})}
    return {**node, "status": {**mapping(node.get("status")), _REQUESTED: amounts.written(used)}}


def is_known(nodes: Iterable[Manifest]) -> bool:
    """Whether there are Nodes, and each says what is used of it."""
    found = [_REQUESTED in mapping(node.get("status")) for node in nodes]
    return bool(found) and all(found)


def pods_of(nodes: Iterable[Manifest]) -> list[Observed[object]]:
    """For each Node one Pod that uses as much as all of its Pods, as they are watched."""
    found: list[Observed[object]] = []
    for node in nodes:
        name = str(metadata(node).get("name"))
        used = amounts.read(mapping(mapping(node.get("status")).get(_REQUESTED)))
        if used.get(PODS, 0) > 0:
            others = PodOnNode(name, name, {**used, PODS: used[PODS] - 1})
            found.append(Observed((POD_ON_NODE_VIEW.kind, name), "", others))
    return found
