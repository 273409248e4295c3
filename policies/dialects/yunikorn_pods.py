"""Computes the resources that YuniKorn counts for a Pod, in YuniKorn's units.

Only requests count, not limits. When the API server stores a Pod, it turns limits without a request into requests.
The amounts of each container are rounded up. During a resize the larger of the present and the desired amount counts,
unless the resize is infeasible.
Source: YuniKorn 1.9, k8shim `pkg/common/resource.go`; Kubernetes KEP-753, KEP-1287, KEP-2837.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from typing import Any

from policies.dialects import core, yunikorn
from policies.dialects.core import Pod
from policies.dialects.reading import Manifest, listing, mapping
from policies.dialects.yunikorn import Resource, readable_amounts
from policies.dialects.yunikorn_config.resources import YuniKornAmounts, bounded, largest, plus

PODS = "pods"
_CONTAINERS = ("containers", "initContainers")
_OF_THE_POD = ("vcore", "memory")
"""The resources for which a request of the whole Pod replaces those of its containers. Huge pages are others."""


def read_pod(manifest: Manifest) -> Pod:
    pod = core.read_pod(manifest)
    if pod.scheduler_name != yunikorn.SCHEDULER or not mapping(manifest.get("spec")).get("containers"):
        return pod
    return replace(pod, asks=requests(with_requests(manifest)))


def with_requests(manifest: Manifest) -> Manifest:
    """The Pod as the API server stores it: a limit without a request becomes the request.

    A limit of the whole Pod becomes a request only for resources that no container requests.
    """
    spec = mapping(manifest.get("spec"))
    filled = {key: [_limited(mapping(each)) for each in listing(spec[key])] for key in _CONTAINERS if key in spec}
    if isinstance(spec.get("resources"), Mapping):
        requested = {name for key in filled for each in filled[key] for name in _requests(each)}
        filled["resources"] = _limited(spec, requested)["resources"]
    return {**manifest, "spec": {**spec, **filled}}


def _limited(holder: Mapping[str, Any], requested: Container[str] = ()) -> dict[str, Any]:
    """The container or spec with limits as requests, except for `requested` resources and those with a request."""
    resources = mapping(holder.get("resources"))
    missing = {name: value for name, value in mapping(resources.get("limits")).items() if name not in requested}
    requests = {**missing, **mapping(resources.get("requests"))}
    return {**holder, "resources": {**resources, "requests": requests}} if requests else dict(holder)


def _requests(container: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(mapping(container.get("resources")).get("requests"))


def requests(manifest: Manifest) -> Resource:
    """The most that the Pod needs at any moment, and 1 of `pods`. Unreadable quantities are left out.

    Sidecars run together with the containers, and with the init containers after them.
    """
    spec, reported = mapping(manifest.get("spec")), mapping(manifest.get("status"))
    infeasible, of_the_pod = _is_infeasible(reported), readable_amounts(_requests(spec))
    running: dict[str, int] = {}  # changed in place: a Pod may have thousands of containers and resources
    starting: dict[str, int] = {}
    for container, status in _with_status(manifest, "initContainers", "initContainerStatuses"):
        for name, amount in _container(container, status, infeasible).items():
            step = bounded(running.get(name, 0) + amount)
            starting[name] = max(starting.get(name, 0), step)
            if container.get("restartPolicy") == "Always":
                running[name] = step
    for container, status in _with_status(manifest, "containers", "containerStatuses"):
        for name, amount in _container(container, status, infeasible).items():
            running[name] = bounded(running.get(name, 0) + amount)
    whole = {
        name: amount
        for name, amount in _container(spec, reported, infeasible).items()
        if name in of_the_pod and (name in _OF_THE_POD or name.startswith("hugepages-"))
    }
    found = {**largest(running, starting), **whole}
    return {PODS: 1, **plus(found, readable_amounts(spec.get("overhead")))}


def _with_status(manifest: Manifest, key: str, statuses: str) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    known = {
        str(status.get("name")): status
        for status in map(mapping, listing(mapping(manifest.get("status")).get(statuses)))
    }
    for container in map(mapping, listing(mapping(manifest.get("spec")).get(key))):
        yield container, known.get(str(container.get("name")), {})


def _container(container: Mapping[str, Any], status: Mapping[str, Any], infeasible: bool) -> YuniKornAmounts:
    has = largest(
        readable_amounts(mapping(status.get("resources")).get("requests")),
        readable_amounts(status.get("allocatedResources")),
    )
    wanted = readable_amounts(_requests(container))
    return has if infeasible and has else largest(wanted, has)


def _is_infeasible(status: Mapping[str, Any]) -> bool:
    """Whether a resize is infeasible: by its condition, or before Kubernetes 1.33 by a status field."""
    conditions = map(mapping, listing(status.get("conditions")))
    pending = (condition for condition in conditions if condition.get("type") == "PodResizePending")
    return status.get("resize") == "Infeasible" or any(each.get("reason") == "Infeasible" for each in pending)
