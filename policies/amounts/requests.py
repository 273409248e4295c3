"""What pods request, as quota counts it: exact per pod, then rounded up once and multiplied by the count.

LimitRanges and RuntimeClasses are other objects: `policies.mutation.pod_defaults` has what they add to a template.
Source: Kubernetes' effective request of a pod (KEP-753, KEP-2837); Kueue v0.19, pkg/workload, Configuration.resources.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from policies.dialects.kueue_workload import WrittenPodSet, WrittenWorkload
from policies.dialects.reading import listing, mapping
from policies.model.pools import count
from policies.model.quantity import BadQuantity, Quantities, Quantity, add, maximum, product

_OF_THE_POD = ("cpu", "memory")
"""The resources, besides huge pages, for which requests of the whole pod override those of its containers."""


def container_requests(container: Mapping[str, Any]) -> dict[str, Quantity]:
    """Its requests; a resource that has only a limit requests the limit."""
    resources = mapping(container.get("resources"))
    return {**readable(resources.get("limits")), **readable(resources.get("requests"))}


def pod_requests(spec: Mapping[str, Any]) -> dict[str, Quantity]:
    """What one pod needs at its worst moment.

    Sidecars (init containers that restart) run on beside the containers, so they add up; a plain init container runs
    beside the sidecars declared before it. What the pod says as a whole comes over these, overhead on top.
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
    return add(of_the_pod(spec, maximum(running, starting)), readable(spec.get("overhead")))


def of_the_pod(spec: Mapping[str, Any], together: Quantities) -> dict[str, Quantity]:
    """What the containers request together, and what the pod as a whole says about cpu, memory and huge pages.

    Its requests win; its limit counts where neither it nor any container requests the resource, as in the API server.
    """
    resources = mapping(spec.get("resources"))
    limits, requests = _of_pods(resources.get("limits")), _of_pods(resources.get("requests"))
    return {**limits, **together, **requests}


def _of_pods(values: object) -> dict[str, Quantity]:
    quantities = readable(values)
    return {name: quantities[name] for name in quantities if name in _OF_THE_POD or name.startswith("hugepages-")}


@dataclass(frozen=True, slots=True)
class Transformation:
    """What a requested resource counts as: so much of each output for each unit of it.

    With `multiply_by` the amount is multiplied by that of another resource, if the pod requests it. The input itself
    still counts unless `replace` is set. Source: Kueue's Configuration, resources.transformations.
    """

    outputs: Quantities
    multiply_by: str = ""
    replace: bool = False


def without(requests: Quantities, prefixes: Iterable[str]) -> Quantities:
    """The requests except for resources whose name starts with one of the prefixes."""
    excluded = tuple(prefixes)
    if not excluded:
        return requests
    return {resource: quantity for resource, quantity in requests.items() if not resource.startswith(excluded)}


def transformed(
    requests: Quantities, by_input: Mapping[str, Transformation], excluded: Iterable[str] = ()
) -> Quantities:
    """The requests as transformed, except for inputs whose name starts with one of the prefixes `excluded`.

    An excluded input is transformed all the same: it has its outputs, and multiplies those of others. A negative output
    is an allowance against other outputs of the same name; what is left of it counts as nothing and never lessens a
    request.
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
    """What this number of pods of the template request."""
    return counted(pod_requests(mapping(template.get("spec"))), pods)


def fewest_pods(workload: WrittenWorkload, pod_set: WrittenPodSet) -> int:
    """The fewest pods that the set can be admitted with: minCount, if set, less the pods that are done."""
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
    """The quantities that can be read; of the others the structure says what is wrong."""
    found: dict[str, Quantity] = {}
    for resource, value in mapping(values).items():
        try:
            found[resource] = Quantity.parse(value)
        except BadQuantity:
            continue
    return found
