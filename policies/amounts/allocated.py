"""Computes what a Pod takes on its node: its requests, or what the kubelet still allocates to it if that is more.

When a Pod is resized, its spec has the new requests at once, but the kubelet changes the allocation later or never.
Source: Kubernetes KEP-1287 and KEP-5419.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from policies.amounts.requests import container_requests, pod_requests, readable
from policies.dialects.reading import listing, mapping
from policies.model.quantity import Quantities, Quantity, maximum

_STATUSES = {"containers": "containerStatuses", "initContainers": "initContainerStatuses"}


def pod_allocated(spec: Mapping[str, Any], status: Mapping[str, Any]) -> dict[str, Quantity]:
    """The requests of the Pod, added up as in `pod_requests`.

    Each container, and the Pod as a whole, counts with the largest of three amounts: its requests in the spec, and
    allocatedResources and resources in the status.
    """
    held = {**spec}
    for key, statuses in _STATUSES.items():
        if reported := listing(status.get(statuses)):
            held[key] = _allocated(listing(spec.get(key)), reported)
    whole = readable(mapping(spec.get("resources")).get("requests"))
    if whole:  # else only the containers have amounts
        held["resources"] = {**spec["resources"], "requests": _written(maximum(whole, _kept(status)))}
    return pod_requests(held)


def _allocated(containers: Iterable[object], reported: Iterable[object]) -> list[Mapping[str, Any]]:
    known = {each.get("name"): _kept(each) for each in map(mapping, reported)}
    found: list[Mapping[str, Any]] = []
    for container in map(mapping, containers):
        if kept := known.get(container.get("name")):
            requests = maximum(container_requests(container), kept)
            found.append({**container, "resources": {"requests": _written(requests)}})
        else:
            found.append(container)
    return found


def _kept(status: Mapping[str, Any]) -> dict[str, Quantity]:
    """The amounts that the kubelet allocates, from the status of a container or of the Pod."""
    resources = mapping(status.get("resources"))
    return maximum(readable(status.get("allocatedResources")), readable(resources.get("requests")))


def _written(amounts: Quantities) -> dict[str, str]:
    return {resource: str(quantity) for resource, quantity in amounts.items()}
