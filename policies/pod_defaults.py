"""What a pod template becomes before its requests are counted, and whether its pods could be created at all.

Source: Kueue v0.19, pkg/workload (adjusting and validating resources); Kubernetes' RuntimeClass and LimitRange.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from policies.dialects.reading import listing, mapping, text
from policies.limit_ranges import CONTAINER, NO_LIMITS, POD, Limits, Summary, Violation, containers, greater
from policies.quantity import Amounts
from policies.requests import pod_requests, readable

_LISTS = ("containers", "initContainers")


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """What around a pod template completes it: the LimitRanges of its namespace, and overhead by RuntimeClass."""

    limit_ranges: Summary = field(default_factory=dict)
    overheads: Mapping[str, Amounts] = field(default_factory=dict)


def completed(spec: Mapping[str, Any], around: Surroundings) -> dict[str, Any]:
    """The spec with the overhead of its RuntimeClass, limits as missing requests, and the defaults of LimitRanges.

    In the order of the API server, so that what is counted is what the pods will request: a container's own limit
    before the default of a LimitRange. An overhead that is given stays; a RuntimeClass that is unknown adds none.
    """
    complete = dict(spec)
    overhead = around.overheads.get(text(spec.get("runtimeClassName")) or "")
    if overhead and not mapping(spec.get("overhead")):
        complete["overhead"] = _texts(overhead)
    for key in _LISTS:
        if items := listing(spec.get(key)):
            complete[key] = [_container(mapping(item), around.limit_ranges.get(CONTAINER, NO_LIMITS)) for item in items]
    if resources := mapping(spec.get("resources")):
        by_containers = pod_requests({key: complete.get(key) for key in _LISTS})
        complete["resources"] = _resources(resources, around.limit_ranges.get(POD, NO_LIMITS), by_containers)
    return complete


def exceeded_limits(spec: Mapping[str, Any], at: str) -> Iterator[Violation]:
    """Containers that request more than their limits; `at` is the path of the pod's spec."""
    for path, container in containers(spec, at):
        resources = mapping(container.get("resources"))
        if over := greater(readable(resources.get("requests")), readable(resources.get("limits"))):
            yield Violation(path, over, "requests must not exceed its limits")


def _container(container: Mapping[str, Any], defaults: Limits) -> dict[str, Any]:
    resources = _resources(mapping(container.get("resources")), defaults)
    return {**container, **({"resources": resources} if resources else {})}


def _resources(own: Mapping[str, Any], defaults: Limits, requested: Container[str] = ()) -> dict[str, Any]:
    """With defaults where it says nothing. A limit is no request of what is `requested` elsewhere."""
    limits = {**_texts(defaults.limits), **mapping(own.get("limits"))}
    missing = {**_texts(defaults.limits), **_texts(defaults.requests), **mapping(own.get("limits"))}
    requests = {resource: value for resource, value in missing.items() if resource not in requested}
    filled = {"limits": limits, "requests": {**requests, **mapping(own.get("requests"))}}
    return {**own, **{key: values for key, values in filled.items() if values}}


def _texts(quantities: Amounts) -> dict[str, str]:
    return {resource: quantity.text for resource, quantity in quantities.items()}
