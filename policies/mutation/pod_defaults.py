"""Completes a pod template before its requests are counted, and checks whether its pods could be created.

Source: Kueue v0.19, pkg/workload (adjusting and validating resources); Kubernetes' RuntimeClass and LimitRange.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from policies.amounts.limit_ranges import CONTAINER, NO_LIMITS, POD, Limits, Summary, Violation, containers, greater
from policies.amounts.requests import pod_requests, readable
from policies.dialects.reading import listing, mapping, text
from policies.model import fields
from policies.model.quantity import Quantities

_LISTS = ("containers", "initContainers")


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """The objects that complete a pod template.

    `limit_ranges`: the LimitRanges of its namespace.
    `overheads`: the overhead of each RuntimeClass.
    `compat`: whether defaults are added in the order of Kueue v0.19 instead of the API server's
    (docs/adr/2026-11-21-requests-as-the-api-server-fills-them-in.md).
    """

    limit_ranges: Summary = field(default_factory=dict)
    overheads: Mapping[str, Quantities] = field(default_factory=dict)
    compat: bool = False


def completed(spec: Mapping[str, Any], around: Surroundings) -> dict[str, Any]:
    """The spec with the overhead of its RuntimeClass, limits as missing requests, and the defaults of LimitRanges.

    The order is that of the API server, so that the counted requests are those of the created pods: a container's own
    limit comes before the default of a LimitRange. A present overhead stays, and an unknown RuntimeClass adds none.
    """
    complete = dict(spec)
    overhead = around.overheads.get(text(spec.get("runtimeClassName")) or "")
    if overhead and not mapping(spec.get("overhead")):
        complete["overhead"] = _texts(overhead)
    for key in _LISTS:
        if items := listing(spec.get(key)):
            limits = around.limit_ranges.get(CONTAINER, NO_LIMITS)
            complete[key] = [_container(mapping(item), limits, around.compat) for item in items]
    if isinstance(resources := spec.get("resources"), Mapping):
        # the API server adds these before LimitRanges add defaults to the containers
        by_containers = () if around.compat else pod_requests({key: spec.get(key) for key in _LISTS})
        limits = around.limit_ranges.get(POD, NO_LIMITS)
        complete["resources"] = _resources(resources, limits, by_containers, around.compat)
    return complete


def exceeded_limits(spec: Mapping[str, Any], at: str) -> Iterator[Violation]:
    """The containers, and the pod as a whole, that request more than their limits. `at`: the path of the pod's spec."""
    asking = [(path, container.get("resources")) for path, container in containers(spec, at)]
    for path, given in (*asking, (fields.join(at, "resources"), spec.get("resources"))):
        resources = mapping(given)
        if over := greater(readable(resources.get("requests")), readable(resources.get("limits"))):
            yield Violation(path, over, "requests must not exceed its limits")


def _container(container: Mapping[str, Any], defaults: Limits, compat: bool) -> dict[str, Any]:
    resources = _resources(mapping(container.get("resources")), defaults, (), compat)
    return {**container, **({"resources": resources} if resources else {})}


def _resources(own: Mapping[str, Any], defaults: Limits, requested: Container[str], compat: bool) -> dict[str, Any]:
    """The resources with defaults filled in.

    A limit does not become the request of a resource that is `requested` elsewhere.
    """
    limits = {**_texts(defaults.limits), **mapping(own.get("limits"))}
    default_requests, own_limits = _texts(defaults.requests), mapping(own.get("limits"))
    first, last = (own_limits, default_requests) if compat else (default_requests, own_limits)
    missing = {**_texts(defaults.limits), **first, **last}
    requests = {resource: value for resource, value in missing.items() if resource not in requested}
    filled = {"limits": limits, "requests": {**requests, **mapping(own.get("requests"))}}
    return {**own, **{key: values for key, values in filled.items() if values}}


def _texts(quantities: Quantities) -> dict[str, str]:
    return {resource: quantity.text for resource, quantity in quantities.items()}
