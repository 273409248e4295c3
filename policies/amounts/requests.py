"""Computes the requests of pods as quota counts them: exact for one pod, then rounded up and multiplied by the count.

`policies.mutation.pod_defaults` adds the defaults of LimitRanges and RuntimeClasses to a template.
Source: Kubernetes' effective request of a pod (KEP-753, KEP-2837); Kueue v0.19, pkg/workload, Configuration.resources.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from policies.dialects.kueue_workload import WrittenPodSet, WrittenWorkload
from policies.dialects.reading import listing, mapping
from policies.model.pools import count
from policies.model.quantity import Quantities, Quantity, add, maximum, product

_OF_THE_POD = ("cpu", "memory")
"""The resources for which a request of the whole pod replaces those of its containers. Huge pages are others."""


def container_requests(container: Mapping[str, Any]) -> dict[str, Quantity]:
    """The requests of a container. For a resource with only a limit, the limit is the request."""
    resources = mapping(container.get("resources"))
    return {**readable(resources.get("limits")), **readable(resources.get("requests"))}


def pod_requests(spec: Mapping[str, Any]) -> dict[str, Quantity]:
    """The most that one pod needs at any moment, with its overhead.

    Sidecars, which are init containers that restart, run together with the containers. Any other init container runs
    together with the sidecars before it. Requests of the pod as a whole replace the sums of its containers.
    """
    running: dict[str, Quantity] = {}  # changed in place: a Pod may have thousands of containers and resources
    starting: dict[str, Quantity] = {}
    for container in map(mapping, listing(spec.get("initContainers"))):
        sidecar = container.get("restartPolicy") == "Always"
        for resource, quantity in container_requests(container).items():
            step = running.get(resource, Quantity.ZERO) + quantity
            starting[resource] = max(starting.get(resource, step), step)
            if sidecar:
                running[resource] = step
    for container in map(mapping, listing(spec.get("containers"))):
        for resource, quantity in container_requests(container).items():
            running[resource] = running.get(resource, Quantity.ZERO) + quantity
    return add(of_the_pod(spec, maximum(running, starting)), readable(spec.get("overhead")))


def of_the_pod(spec: Mapping[str, Any], together: Quantities) -> dict[str, Quantity]:
    """The requests of the containers, `together`, where those of the whole pod replace cpu, memory and huge pages.

    As in the API server, a limit of the whole pod counts if neither the pod nor a container requests the resource.
    """
    resources = mapping(spec.get("resources"))
    limits, requests = _of_pods(resources.get("limits")), _of_pods(resources.get("requests"))
    return {**limits, **together, **requests}


def _of_pods(values: object) -> dict[str, Quantity]:
    quantities = readable(values)
    return {name: quantities[name] for name in quantities if name in _OF_THE_POD or name.startswith("hugepages-")}


@dataclass(frozen=True, slots=True)
class Transformation:
    """How a requested resource, the input, is counted. Source: Kueue's Configuration, resources.transformations.

    `outputs`: the amount of each output resource for one unit of the input.
    `multiply_by`: a resource by whose amount the outputs are multiplied, if the pod requests it.
    `replace`: whether only the outputs count, and not the input.
    """

    outputs: Quantities
    multiply_by: str = ""
    replace: bool = False


def without(requests: Quantities, prefixes: Iterable[str]) -> Quantities:
    """The requests without the resources whose name starts with one of the prefixes."""
    excluded = tuple(prefixes)
    if not excluded:
        return requests
    return {resource: quantity for resource, quantity in requests.items() if not resource.startswith(excluded)}


def transformed(
    requests: Quantities, by_input: Mapping[str, Transformation], excluded: Iterable[str] = ()
) -> Quantities:
    """Apply transformations to the requests.

    `excluded`: prefixes of resources that do not count. Such an input still has its outputs, and still multiplies those
    of others.
    A negative output reduces other outputs of the same resource, but never a request: a negative sum of outputs counts
    as 0.
    """
    applied = {resource: by_input[resource] for resource in requests if resource in by_input}
    if not applied:
        return without(requests, excluded)
    outputs: dict[str, Quantity] = {}
    for resource, transformation in applied.items():
        outputs = add(outputs, _outputs(requests, resource, transformation))
    made = {resource: max(quantity, Quantity.ZERO) for resource, quantity in outputs.items()}
    replaced = {resource for resource, transformation in applied.items() if transformation.replace}
    kept = {resource: quantity for resource, quantity in requests.items() if resource not in replaced}
    return add(without(kept, excluded), made)


def _outputs(requests: Quantities, resource: str, transformation: Transformation) -> dict[str, Quantity]:
    base, factor = requests[resource], requests.get(transformation.multiply_by)
    if factor is not None:
        base = product(base, factor)
    return {name: product(base, each) for name, each in transformation.outputs.items()}


def counted(requests: Quantities, pods: int) -> dict[str, int]:
    """The requests of `pods` pods in Kueue's units (see `policies.model.pools`); a negative request counts as 0."""
    return {resource: max(0, count(resource, quantity)) * pods for resource, quantity in requests.items()}


def template_requests(template: Mapping[str, Any], pods: int) -> dict[str, int]:
    return counted(pod_requests(mapping(template.get("spec"))), pods)


def fewest_pods(workload: WrittenWorkload, pod_set: WrittenPodSet) -> int:
    """The least number of pods to admit the pod set with: minCount, or else count, without finished pods."""
    done = min(sum(entry.pods for entry in workload.reclaimable if entry.name == pod_set.name), pod_set.count)
    least = pod_set.count if pod_set.min_count is None else min(pod_set.min_count, pod_set.count)
    return max(0, least - done)


def total(requests: Iterable[Mapping[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for amounts in requests:
        for resource, amount in amounts.items():
            sums[resource] = sums.get(resource, 0) + amount
    return sums


def readable(values: object) -> dict[str, Quantity]:
    """The quantities that can be read. The schema check reports the others."""
    return {name: quantity for name, value in mapping(values).items() if (quantity := Quantity.read(value))}
