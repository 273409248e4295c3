"""What decisions take from Kueue's own Configuration: how requests are counted, and how long pods are waited for.

Other sections are for others to read. Source: Kueue v0.19, apis/config v1beta2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from policies.dialects.reading import Manifest, listing, mapping, text
from policies.errors import BadConfiguration
from policies.quantity import BadQuantity, Quantity
from policies.requests import Transformation
from scheduling.objects.order import Ordering
from scheduling.objects.requests import Counting
from scheduling.objects.times import SECOND
from scheduling.status.deadlines import WaitForPodsReady
from scheduling.status.requeue import Backoff

_UNITS = {"h": 3600 * SECOND, "m": 60 * SECOND, "s": SECOND, "ms": 10**6, "us": 1000, "µs": 1000, "ns": 1}
_PART = re.compile(r"([0-9]+)(?:\.([0-9]{1,9}))?(h|ms|m|s|us|µs|ns)")
_DURATION = re.compile(rf"(?:{_PART.pattern})+").fullmatch
_LONGEST = 100
"""Characters of a duration that are read."""


def read_counting(configuration: Manifest, *, reclaimable_pods: bool = True) -> Counting:
    """The section `resources`. Raises BadConfiguration."""
    resources = mapping(configuration.get("resources"))
    transformations = dict(_transformations(listing(resources.get("transformations"))))
    prefixes = tuple(filter(None, map(text, listing(resources.get("excludeResourcePrefixes")))))
    return Counting(prefixes, transformations, reclaimable_pods)


def read_waiting(configuration: Manifest) -> WaitForPodsReady | None:
    """The section `waitForPodsReady`; None where it is off (`enable: false`, of v1beta1). Raises BadConfiguration."""
    section, at = mapping(configuration.get("waitForPodsReady")), "waitForPodsReady"
    if section.get("enable") is False:
        return None
    requeuing, under = mapping(section.get("requeuingStrategy")), f"{at}.requeuingStrategy"
    timeout = duration(section.get("timeout", "30m"), f"{at}.timeout")
    recovery, limit = section.get("recoveryTimeout"), requeuing.get("backoffLimitCount")
    return WaitForPodsReady(
        timeout // SECOND,
        (timeout if recovery is None else duration(recovery, f"{at}.recoveryTimeout")) // SECOND,
        Backoff(
            _number(requeuing.get("backoffBaseSeconds", 60), f"{under}.backoffBaseSeconds"),
            _number(requeuing.get("backoffMaxSeconds", 3600), f"{under}.backoffMaxSeconds"),
        ),
        None if limit is None else _number(limit, f"{under}.backoffLimitCount"),
    )


def read_ordering(configuration: Manifest) -> Ordering:
    """waitForPodsReady.requeuingStrategy.timestamp. Raises BadConfiguration."""
    waiting = mapping(configuration.get("waitForPodsReady"))
    timestamp = mapping(waiting.get("requeuingStrategy")).get("timestamp", "Eviction")
    if timestamp not in ("Eviction", "Creation"):
        at = "waitForPodsReady.requeuingStrategy.timestamp"
        raise BadConfiguration(f"{timestamp!r} is unknown; write Eviction or Creation", at)
    return Ordering(by_eviction=timestamp == "Eviction")


def duration(value: object, at: str) -> int:
    """Nanoseconds of a duration as Go writes it, such as 1h30m; not negative. Raises BadConfiguration."""
    if value == "0":
        return 0
    if not isinstance(value, str) or len(value) > _LONGEST or not _DURATION(value):
        raise BadConfiguration(f"{value!r} is no duration; write a number and one of h m s, as in 1h30m or 300s", at)
    return sum(_length(*part.groups(default="")) for part in _PART.finditer(value))


def _length(whole: str, fraction: str, unit: str) -> int:
    length: int = _UNITS[unit]
    return int(whole) * length + int(fraction or 0) * length // int("1" + "0" * len(fraction))


def _transformations(entries: list[Any]) -> Iterator[tuple[str, Transformation]]:
    seen: set[str] = set()
    for index, entry in enumerate(map(mapping, entries)):
        at, resource = f"resources.transformations[{index}]", text(entry.get("input"))
        strategy = entry.get("strategy", "Retain")
        if resource is None:
            raise BadConfiguration("the resource that is transformed is missing; name it", f"{at}.input")
        if resource in seen:
            raise BadConfiguration(f"{resource} is transformed twice; join both entries", f"{at}.input")
        if strategy not in ("Retain", "Replace"):
            raise BadConfiguration(f"{strategy!r} is unknown; write Retain or Replace", f"{at}.strategy")
        seen.add(resource)
        outputs = _factors(mapping(entry.get("outputs")), f"{at}.outputs")
        yield resource, Transformation(outputs, text(entry.get("multiplyBy")) or "", strategy == "Replace")


def _factors(outputs: Mapping[str, Any], at: str) -> dict[str, Quantity]:
    found = {}
    for resource, factor in outputs.items():
        try:
            found[resource] = Quantity.parse(factor)
        except BadQuantity as error:
            raise BadConfiguration(str(error), f"{at}.{resource}") from error
    return found


def _number(value: object, at: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31:
        raise BadConfiguration(f"{value!r} is no number of 0 or more", at)
    return value
