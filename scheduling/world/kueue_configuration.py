"""What decisions take from Kueue's own Configuration: how requests are counted, and how long pods are waited for.

It is read after `policies.configuration.kueue.validation` found no fault in it; what is checked there is not checked
here again. Other sections are for others to read. Source: Kueue v0.19, apis/config v1beta2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from policies.amounts.requests import Transformation
from policies.configuration.kueue.defaults import TIMEOUT, defaulted
from policies.configuration.kueue.durations import nanoseconds
from policies.configuration.kueue.grammar import no_duration
from policies.dialects.reading import Manifest, listing, mapping, text
from policies.model.errors import BadConfiguration
from policies.model.quantity import BadQuantity, Quantity
from scheduling.objects.order import Ordering
from scheduling.objects.requests import Counting
from scheduling.objects.times import SECOND
from scheduling.queues.consumption import UsageDecay
from scheduling.status.deadlines import WaitForPodsReady
from scheduling.status.requeue import RequeueBackoff


def read_counting(configuration: Manifest, *, reclaimable_pods: bool = True) -> Counting:
    """The section `resources`. Raises BadConfiguration."""
    resources = mapping(configuration.get("resources"))
    transformations = dict(_transformations(listing(resources.get("transformations"))))
    prefixes = tuple(filter(None, map(text, listing(resources.get("excludeResourcePrefixes")))))
    return Counting(prefixes, transformations, reclaimable_pods)


def read_waiting(configuration: Manifest) -> WaitForPodsReady | None:
    """The section `waitForPodsReady`; None where it is off (`enable: false`, of v1beta1). Raises BadConfiguration."""
    section, at = _told(configuration.get("waitForPodsReady")), "waitForPodsReady"
    if section.get("enable") is False:
        return None
    requeuing = _told(section.get("requeuingStrategy"))
    timeout = duration(section.get("timeout", TIMEOUT), f"{at}.timeout") or duration(TIMEOUT, at)
    recovery = section.get("recoveryTimeout")
    return WaitForPodsReady(
        timeout // SECOND,
        (timeout if recovery is None else duration(recovery, f"{at}.recoveryTimeout")) // SECOND,
        RequeueBackoff(requeuing.get("backoffBaseSeconds", 60), requeuing.get("backoffMaxSeconds", 3600)),
        requeuing.get("backoffLimitCount"),
        section.get("blockAdmission") is True,
    )


def read_ordering(configuration: Manifest) -> Ordering:
    """waitForPodsReady.requeuingStrategy.timestamp."""
    waiting = mapping(configuration.get("waitForPodsReady"))
    timestamp = _told(waiting.get("requeuingStrategy")).get("timestamp", "Eviction")
    return Ordering(by_eviction=timestamp == "Eviction")


def read_fading(configuration: Manifest) -> UsageDecay | None:
    """The section `admissionFairSharing`; None where LocalQueues are not told apart by what they used."""
    section = defaulted(configuration).get("admissionFairSharing")
    if section is None:
        return None
    at = "admissionFairSharing"
    return UsageDecay(
        duration(section["usageHalfLifeTime"], f"{at}.usageHalfLifeTime"),
        duration(section["usageSamplingInterval"], f"{at}.usageSamplingInterval"),
        {resource: Fraction(str(weight)) for resource, weight in mapping(section.get("resourceWeights")).items()},
    )


def duration(value: object, at: str) -> int:
    """Nanoseconds of a duration as Go writes it, such as 1h30m; not negative. Raises BadConfiguration."""
    length = nanoseconds(value)
    if length is None or length < 0:
        fault = no_duration(value, at)
        raise BadConfiguration(fault.message, fault.field)
    return length


def _told(section: object) -> dict[str, Any]:
    return {key: value for key, value in mapping(section).items() if value is not None}


def _transformations(entries: list[Any]) -> Iterator[tuple[str, Transformation]]:
    for index, entry in enumerate(map(mapping, entries)):
        at, resource = f"resources.transformations[{index}]", text(entry.get("input"))
        if resource is None:
            raise BadConfiguration("the resource that is transformed is missing; name it", f"{at}.input")
        outputs = _factors(mapping(entry.get("outputs")), f"{at}.outputs")
        yield resource, Transformation(outputs, text(entry.get("multiplyBy")) or "", entry.get("strategy") == "Replace")


def _factors(outputs: Mapping[str, Any], at: str) -> dict[str, Quantity]:
    found = {}
    for resource, factor in outputs.items():
        try:
            found[resource] = Quantity.parse(factor)
        except BadQuantity as error:
            raise BadConfiguration(str(error), f"{at}.{resource}") from error
    return found
