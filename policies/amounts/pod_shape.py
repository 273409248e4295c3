"""Computes the shape of a pod: the fields that decide where it can run. A scheduler treats pods of one shape alike.

Source: Kueue v0.19, pkg/util/pod (the shape of a pod's spec).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policies.amounts.requests import readable
from policies.dialects.reading import listing, mapping

_SAME = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "runtimeClassName",
    "priority",
    "priorityClassName",
    "topologySpreadConstraints",
    "resourceClaims",
)


def shape(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a pod's spec that count, with quantities as numbers. Images, commands and variables do not
    count."""
    kept: dict[str, Any] = {key: spec[key] for key in _SAME if spec.get(key)}
    for key in ("initContainers", "containers"):
        if entries := listing(spec.get(key)):
            kept[key] = [_container(mapping(entry)) for entry in entries]
    if overhead := _amounts(spec.get("overhead")):
        kept["overhead"] = overhead
    return kept


def _container(container: Mapping[str, Any]) -> dict[str, Any]:
    requests = _amounts(mapping(container.get("resources")).get("requests"))
    return {"requests": requests, "ports": listing(container.get("ports"))}


def _amounts(values: object) -> dict[str, int]:
    """Amounts by resource, in billionths of a unit."""
    return {resource: quantity.nano for resource, quantity in readable(values).items()}
