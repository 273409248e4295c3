"""Reads the LimitRanges of a namespace: the defaults that they add, and the pods that they refuse.

Source: Kubernetes' LimitRange; Kueue v0.19, pkg/util/limitrange.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from policies.amounts.requests import pod_requests, readable
from policies.dialects.reading import Manifest, listing, mapping, text
from policies.model import fields
from policies.model.quantity import Quantities, maximum, minimum

CONTAINER = "Container"
POD = "Pod"


@dataclass(frozen=True, slots=True)
class Limits:
    """All LimitRanges together for one type, such as Pod or Container.

    `minimum`: the highest minimum of each resource.
    `maximum`, `ratio`: the lowest maximum, and the lowest maxLimitRequestRatio.
    `limits`, `requests`: the first default of each resource.
    """

    minimum: Quantities = field(default_factory=dict)
    maximum: Quantities = field(default_factory=dict)
    ratio: Quantities = field(default_factory=dict)
    limits: Quantities = field(default_factory=dict)
    requests: Quantities = field(default_factory=dict)


Summary: TypeAlias = Mapping[str, Limits]
"""The limits by type: Container, Pod or PersistentVolumeClaim."""
NO_LIMITS = Limits()


class Violation(NamedTuple):
    """A container or pod that requests too much or too little of some resources."""

    field: str
    resources: tuple[str, ...]
    message: str


def summarize(ranges: Iterable[Manifest]) -> dict[str, Limits]:
    """The limits of all LimitRanges by type. Their order matters only for defaults."""
    summary: dict[str, Limits] = {}
    for manifest in ranges:
        for item in map(mapping, listing(mapping(manifest.get("spec")).get("limits"))):
            kind = text(item.get("type")) or ""
            summary[kind] = _joined(summary.get(kind, NO_LIMITS), item)
    return summary


def _joined(before: Limits, item: Mapping[str, Any]) -> Limits:
    return Limits(
        minimum=maximum(before.minimum, readable(item.get("min"))),
        maximum=minimum(before.maximum, readable(item.get("max"))),
        ratio=minimum(before.ratio, readable(item.get("maxLimitRequestRatio"))),
        limits={**readable(item.get("default")), **before.limits},
        requests={**readable(item.get("defaultRequest")), **before.requests},
    )


def violations(summary: Summary, spec: Mapping[str, Any], at: str) -> Iterator[Violation]:
    """The violations in a pod's spec. `at`: the path of the spec."""
    if (limits := summary.get(CONTAINER)) is not None:
        for path, container in containers(spec, at):
            yield from _beyond_limits(limits, container, path)
    if (limits := summary.get(POD)) is not None:
        requests = pod_requests(spec)
        yield from _outside(limits, requests, requests, at)


def containers(spec: Mapping[str, Any], at: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The init containers and the containers, each with its path."""
    for key in ("initContainers", "containers"):
        for index, container in enumerate(listing(spec.get(key))):
            yield fields.join(at, key, index), mapping(container)


def _beyond_limits(limits: Limits, container: Mapping[str, Any], at: str) -> Iterator[Violation]:
    resources = mapping(container.get("resources"))
    requests, limited = readable(resources.get("requests")), readable(resources.get("limits"))
    yield from _outside(limits, minimum(requests, limited), maximum(requests, limited), at)


def _outside(limits: Limits, least: Quantities, most: Quantities, at: str) -> Iterator[Violation]:
    if above := greater(most, limits.maximum):
        yield Violation(at, above, "requests must not be above the limitRange max")
    if below := greater(limits.minimum, least):
        yield Violation(at, below, "requests must not be below the limitRange min")


def greater(a: Quantities, b: Quantities) -> tuple[str, ...]:
    """The resources that both have, and of which `a` has more."""
    return tuple(sorted(resource for resource, quantity in a.items() if resource in b and quantity > b[resource]))
