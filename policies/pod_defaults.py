"""What a pod template becomes before its requests are counted, and whether its pods could be created at all.

Source: Kueue v0.19, pkg/workload (adjusting and validating resources); Kubernetes' RuntimeClass and LimitRange.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from policies.dialects.reading import listing, mapping, text
from policies.limit_ranges import CONTAINER, NO_LIMITS, POD, Limits, Summary, Violation, containers, greater
from policies.quantity import Amounts
from policies.requests import readable

_LISTS = ("containers", "initContainers")


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """What around a pod template completes it: the LimitRanges of its namespace, and overhead by RuntimeClass."""

    limit_ranges: Summary = field(default_factory=dict)
    overheads: Mapping[str, Amounts] = field(default_factory=dict)


def completed(spec: Mapping[str, Any], around: Surroundings) -> dict[str, Any]:
    """The spec with the overhead of its RuntimeClass, the defaults of LimitRanges, and limits as missing requests.

    An overhead that is given stays; a RuntimeClass that is unknown adds none.
    """
    complete = dict(spec)
    overhead = around.overheads.get(text(spec.get("runtimeClassName")) or "")
    if overhead and not mapping(spec.get("overhead")):
        complete["overhead"] = _texts(overhead)
    limits = around.limit_ranges.get(CONTAINER, NO_LIMITS)
    for key in _LISTS:
        if items := listing(spec.get(key)):
            complete[key] = [_completed(mapping(item), limits) for item in items]
    if mapping(spec.get("resources")):
        complete |= _completed(spec, around.limit_ranges.get(POD, NO_LIMITS), only=True)
    return complete


def exceeded_limits(spec: Mapping[str, Any], at: str) -> Iterator[Violation]:
    """Containers that request more than their limits; `at` is the path of the pod's spec."""
    for path, container in containers(spec, at):
        resources = mapping(container.get("resources"))
        if over := greater(readable(resources.get("requests")), readable(resources.get("limits"))):
            yield Violation(path, over, "requests must not exceed its limits")


def _completed(thing: Mapping[str, Any], defaults: Limits, *, only: bool = False) -> dict[str, Any]:
    """A container, or with `only` the resources alone of a pod, with defaults where it says nothing."""
    resources = mapping(thing.get("resources"))
    limits = {**_texts(defaults.limits), **mapping(resources.get("limits"))}
    requests = {**limits, **_texts(defaults.requests), **mapping(resources.get("requests"))}
    filled = {"limits": limits, "requests": requests}
    whole = {**resources, **{key: values for key, values in filled.items() if values}}
    return {**({} if only else thing), **({"resources": whole} if whole else {})}


def _texts(quantities: Amounts) -> dict[str, str]:
    return {resource: quantity.text for resource, quantity in quantities.items()}
