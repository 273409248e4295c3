"""Makes the pod sets of a Workload from the pod templates of a job.

Source: Kueue v0.19, pkg/controller/jobframework and pkg/util/podset.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from policies.dialects.go_values import FALSE, TRUE, read_integer
from policies.dialects.job_shape import PodsAt, PodSetPath, pods_at
from policies.dialects.kueue_kinds import PREFIX
from policies.dialects.reading import Manifest, listing, mapping, texts

_ANNOTATIONS = f"{PREFIX}podset-"
_MOST_LAYERS = 3
_LONGEST_LEVEL = 63
"""The most characters of a level in a topologyRequest that the API server stores."""


class RequestGates(NamedTuple):
    """Kueue's feature gates for the topologyRequest of a job's pods.

    enabled: TopologyAwareScheduling. Without it pods have no topologyRequest.
    layers: TASMultiLayerTopology.
    """

    enabled: bool = True
    layers: bool = True


ALL_REQUESTS = RequestGates()


def pod_sets(
    manifest: Manifest, paths: Iterable[PodSetPath], gates: RequestGates = ALL_REQUESTS
) -> list[dict[str, Any]]:
    return [
        pod_set(each.name, each.count, each.counted, each.index_label, _sub_groups(each), gates)
        for each in pods_at(manifest, paths)
    ]


def _sub_groups(pods: PodsAt) -> Mapping[str, Any]:
    """The fields of a topologyRequest that describe how its pods are grouped; empty if they are not."""
    if not pods.sub_group_label:
        return {}
    return {"subGroupIndexLabel": pods.sub_group_label, "subGroupCount": pods.sub_groups}


def pod_set(
    name: str,
    count: int,
    template: Mapping[str, Any],
    index_label: str = "",
    sub_groups: Mapping[str, Any] = MappingProxyType({}),
    gates: RequestGates = ALL_REQUESTS,
) -> dict[str, Any]:
    """A pod set of a Workload's spec. Its topologyRequest follows from annotations of the template and `sub_groups`."""
    made: dict[str, Any] = {"name": name, "count": count, "template": dict(template)}
    annotations = texts(mapping(template.get("metadata")).get("annotations"))
    if gates.enabled and (request := topology_request(annotations, index_label, sub_groups, layers=gates.layers)):
        made["topologyRequest"] = request
    return made


def topology_request(
    annotations: Mapping[str, str],
    index_label: str = "",
    sub_groups: Mapping[str, Any] = MappingProxyType({}),
    *,
    layers: bool = True,
) -> dict[str, Any]:
    """The topologyRequest from a pod template's annotations, `index_label` and `sub_groups`; empty if there are none.

    The first of required, preferred and unconstrained counts. The name of a pod set group counts only with a level. The
    label with the index is written even without a request, since the ClusterQueue may have only topologies.

    layers: whether layers of slices count.
    """
    asked = {
        key.removeprefix(_ANNOTATIONS): value for key, value in annotations.items() if key.startswith(_ANNOTATIONS)
    }
    request: dict[str, Any] = {}
    if level := next((key for key in ("required", "preferred") if f"{key}-topology" in asked), ""):
        request = {level: asked[f"{level}-topology"], "podSetGroupName": asked.get("group-name")}
    elif (anywhere := asked.get("unconstrained-topology")) in TRUE | FALSE:
        request = {"unconstrained": anywhere in TRUE}
    if layers and (written := _layers(asked.get("slice-required-topology-constraints"))):
        request["podsetSliceRequiredTopologyConstraints"] = written
    elif "slice-required-topology" in asked and (size := read_integer(asked.get("slice-size", ""), 32)) is not None:
        request["podSetSliceRequiredTopology"] = asked["slice-required-topology"]
        request["podSetSliceSize"] = size
    found = {**sub_groups, **{key: value for key, value in request.items() if value is not None}}
    if index_label:
        found["podIndexLabel"] = index_label
    return found


def _layers(value: str | None) -> list[dict[str, Any]] | None:
    """The layers of slices in an annotation, outermost first; None if it is missing or invalid."""
    try:
        found = json.loads(value or "[]")
    except (ValueError, RecursionError):
        return None
    layers = [mapping(each) for each in listing(found)]
    readable = [each for each in layers if _is_level(each.get("topology")) and _is_size(each.get("size"))]
    return [{"topology": each["topology"], "size": each["size"]} for each in readable[:_MOST_LAYERS]] or None


def _is_level(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_LEVEL


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31
