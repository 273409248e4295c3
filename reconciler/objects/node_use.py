"""The requests of Pods outside topologies on each Node, for files that have the Nodes but not the Pods.

The status of each Node has one sum in `requested`: quantities by resource, including `pods`. No Pod is named.
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
"""The amounts in base units by Node and resource, including `pods`. Nodes without such Pods are missing."""


def use_of(pods: Iterable[PodOnNode]) -> NodeUse:
    found: dict[str, dict[str, int]] = {}
    for pod in pods:
        amounts.add_to(found.setdefault(pod.node, {}), dict(pod_request(pod.requests)))
    return found


def with_use(node: Mapping[str, Any], use: NodeUse) -> dict[str, Any]:
    """The Node with the sum of its Pods in its status. Zero is written, too, because it says that no Pod is there."""
    used = {PODS: 0, **use.get(str(metadata(node).get("name")), {})}
    return {**node, "status": {**mapping(node.get("status")), _REQUESTED: amounts.resource_list(used)}}


def is_known(nodes: Iterable[Manifest]) -> bool:
    """Whether there are Nodes, and all of them have such a sum."""
    found = [_REQUESTED in mapping(node.get("status")) for node in nodes]
    return bool(found) and all(found)


def pods_of(nodes: Iterable[Manifest]) -> list[Observed[object]]:
    """For each Node one watched Pod that requests as much as all Pods on the Node together."""
    found: list[Observed[object]] = []
    for node in nodes:
        name = str(metadata(node).get("name"))
        used = amounts.read(mapping(mapping(node.get("status")).get(_REQUESTED)))
        if used.get(PODS, 0) > 0:
            others = PodOnNode(name, name, {**used, PODS: used[PODS] - 1})
            found.append(Observed((POD_ON_NODE_VIEW.kind, name), "", others))
    return found
