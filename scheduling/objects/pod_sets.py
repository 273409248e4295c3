"""Pod sets of a Workload from the pod templates of a job.

Source: Kueue v0.19, pkg/controller/jobframework and pkg/util/podset.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from policies.dialects.job_shape import PodSetPath, pods_at
from policies.dialects.kueue_kinds import PREFIX
from policies.dialects.reading import Manifest, mapping, texts

_ANNOTATIONS = f"{PREFIX}podset-"


def pod_sets(manifest: Manifest, paths: Iterable[PodSetPath]) -> list[dict[str, Any]]:
    """The pod sets as a Workload's spec has them."""
    return [pod_set(each.name, each.count, each.template, each.index_label) for each in pods_at(manifest, paths)]


def pod_set(name: str, count: int, template: Mapping[str, Any], index_label: str = "") -> dict[str, Any]:
    """One pod set of a Workload's spec; the template's annotations give its topologyRequest."""
    made: dict[str, Any] = {"name": name, "count": count, "template": dict(template)}
    if request := topology_request(texts(mapping(template.get("metadata")).get("annotations")), index_label):
        made["topologyRequest"] = request
    return made


def topology_request(annotations: Mapping[str, str], index_label: str = "") -> dict[str, Any]:
    """The topologyRequest from a pod template's annotations; empty if there are none."""
    asked = {
        key.removeprefix(_ANNOTATIONS): value for key, value in annotations.items() if key.startswith(_ANNOTATIONS)
    }
    request: dict[str, Any] = {
        "required": asked.get("required-topology"),
        "preferred": asked.get("preferred-topology"),
        "unconstrained": True if asked.get("unconstrained-topology") == "true" else None,
        "podSetSliceRequiredTopology": asked.get("slice-required-topology"),
        "podSetSliceSize": number(asked.get("slice-size")),
        "podSetGroupName": asked.get("group-name"),
    }
    found = {key: value for key, value in request.items() if value is not None}
    if found and index_label:
        found["podIndexLabel"] = index_label
    return found


def number(value: str | None) -> int | None:
    """The count in an annotation; None if it is not one."""
    return int(value) if value and value.isascii() and value.isdecimal() and len(value) < 10 else None
