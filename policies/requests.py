"""What pods request, as quota counts it: exact per pod, then rounded up once and multiplied by the count.

LimitRanges, RuntimeClasses and Kueue's resource transformations are not applied: these are other objects.
Source: Kubernetes' effective request of a pod (KEP-753, KEP-2837); Kueue v0.19, pkg/workload.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from policies.dialects.kueue_workload import PodSet, Workload
from policies.dialects.reading import listing, mapping
from policies.pools import count
from policies.quantity import Amounts, BadQuantity, Quantity, add, maximum

_OF_THE_POD = ("cpu", "memory")
"""Besides huge pages, what requests of the pod as a whole override."""


def container_requests(container: Mapping[str, Any]) -> dict[str, Quantity]:
    """Its requests; a resource that has only a limit requests the limit."""
    resources = mapping(container.get("resources"))
    return {**_amounts(resources.get("limits")), **_amounts(resources.get("requests"))}


def pod_requests(spec: Mapping[str, Any]) -> dict[str, Quantity]:
    """What one pod needs at its worst moment.

    Sidecars (init containers that restart) run on beside the containers, so they add up; a plain init container runs
    beside the sidecars declared before it. Requests of the pod as a whole win over these; overhead comes on top.
    """
    sidecars: dict[str, Quantity] = {}
    starting: dict[str, Quantity] = {}
    for container in map(mapping, listing(spec.get("initContainers"))):
        step = add(sidecars, container_requests(container))
        if container.get("restartPolicy") == "Always":
            sidecars = step
        starting = maximum(starting, step)
    running = sidecars
    for container in map(mapping, listing(spec.get("containers"))):
        running = add(running, container_requests(container))
    whole = {
        resource: quantity
        for resource, quantity in container_requests(spec).items()
        if resource in _OF_THE_POD or resource.startswith("hugepages-")
    }
    return add({**maximum(running, starting), **whole}, _amounts(spec.get("overhead")))


def counted(requests: Amounts, pods: int) -> dict[str, int]:
    """As Kueue counts them (see `policies.pools`) for so many pods; below zero counts as zero."""
    return {resource: max(0, count(resource, quantity)) * pods for resource, quantity in requests.items()}


def pod_set_requests(pod_set: PodSet, pods: int) -> dict[str, int]:
    """What so many pods of the set request."""
    return counted(pod_requests(mapping(mapping(pod_set.content.get("template")).get("spec"))), pods)


def fewest_pods(workload: Workload, pod_set: PodSet) -> int:
    """With how many pods the set can be admitted at least: those done already are gone, and minCount may be enough."""
    done = min(sum(entry.pods for entry in workload.reclaimable if entry.name == pod_set.name), pod_set.count)
    least = pod_set.count if pod_set.min_count is None else min(pod_set.min_count, pod_set.count)
    return max(0, least - done)


def total(requests: Iterable[Mapping[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for amounts in requests:
        for resource, amount in amounts.items():
            sums[resource] = sums.get(resource, 0) + amount
    return sums


def _amounts(values: object) -> dict[str, Quantity]:
    """Those that can be read; of the others the structure says what is wrong."""
    found: dict[str, Quantity] = {}
    for resource, value in mapping(values).items():
        try:
            found[resource] = Quantity.parse(value)
        except BadQuantity:
            continue
    return found
