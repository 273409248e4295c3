"""Finds amounts that are valid quantities, but are most likely mistakes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from policies.dialects.reading import listing, mapping
from policies.dialects.resource_names import is_requested, likely_name
from policies.model import fields
from policies.model.quantity import Quantity

_BYTES = ("memory", "ephemeral-storage")
_CORES = ("cpu", "vcore")
_FEW = 1024  # bytes; nothing runs in less
_SMALL = 1024**2  # bytes; the API server writes 1.1Gi as 1181116006400m
_FRACTIONS = "mun"  # the suffixes below one
_LARGE = ("i", "M", "G", "T", "P", "E")  # the ends of suffixes that nobody uses for cores
_UNIT = 10**9
_meant = lru_cache(maxsize=1024)(likely_name)  # a cluster has many Pods, and few names of resources
_LONGEST = 63  # the longest name that is compared and cached; custom resources may have names of a megabyte


class OddAmount(NamedTuple):
    """An implausible amount or a misspelt resource name.

    `refused`: whether the API server refuses Pods that request it.
    `likely_name`: the resource name that was probably meant; empty if the name is right.
    `first`: the field where the same mistake is reported; empty if it is reported here.
    """

    field: str
    resource: str
    message: str
    fix: str
    refused: bool
    likely_name: str = ""
    first: str = ""


def odd_in_pod(at: str, spec: Mapping[str, Any]) -> Iterator[OddAmount]:
    """The odd amounts that a pod requests, as a whole and in its containers. `at`: the path of its spec."""
    yield from _odd_in_requests(fields.join(at, "resources"), spec.get("resources"))
    for part in ("initContainers", "containers"):
        for index, container in enumerate(listing(spec.get(part))):
            if resources := mapping(container).get("resources"):
                yield from _odd_in_requests(fields.join(at, part, index, "resources"), resources)


def _odd_in_requests(at: str, resources: object) -> Iterator[OddAmount]:
    """The odd amounts, and the requests that do not match their limits."""
    yield from odd_in_resources(at, resources)
    limits = mapping(mapping(resources).get("limits"))
    for resource, value in mapping(mapping(resources).get("requests")).items():
        limit = limits.get(resource)
        if isinstance(resource, str) and value is not None and value != limit:
            yield from _without_limit(fields.join(at, "requests", resource), resource, value, limit)


def odd_in_resources(at: str, resources: object) -> Iterator[OddAmount]:
    """The odd amounts among requests and limits. `at`: the path of the mapping that has both."""
    for key in ("requests", "limits"):
        for resource, value in mapping(mapping(resources).get(key)).items():
            field = fields.join(at, key, resource)
            yield from odd_value(field, resource, value)
            if isinstance(resource, str) and (slip := misspelt(field, resource, of_pod=True)):
                yield slip


def _without_limit(field: str, resource: str, value: object, limit: object) -> Iterator[OddAmount]:
    """The fault of a request that does not have the limit that it needs.

    The API server copies limits to absent requests, but no requests to absent limits. A LimitRange may set these.
    """
    is_whole = _is_device(resource) or resource.startswith("hugepages-")
    if limit is None:
        if is_whole:
            message = (
                f"{resource} is requested without a limit: the API server refuses such Pods, unless a LimitRange of "
                "the namespace sets the same limit"
            )
            yield OddAmount(field, resource, message, "set the limit to the same amount", False)
        return
    asked, most = Quantity.read(value), Quantity.read(limit)
    if asked is None or most is None:
        return
    if asked > most or (is_whole and asked != most):
        message = (
            f"{resource}={asked.text} is requested, but its limit is {most.text}: the API server refuses such Pods"
        )
        yield OddAmount(field, resource, message, "set both to the same amount", True)


def misspelt(field: str, resource: str, *, of_pod: bool = False) -> OddAmount | None:
    """The fault of a resource name that is nearly a known one, or None. `field`: the path with the name."""
    means = _meant(resource) if len(resource) <= _LONGEST else ""
    if not means:
        return None
    fix = f"did you mean {means}?"
    if is_requested(resource):
        return OddAmount(
            field, resource, f"{resource} is nearly {means}, which device plugins offer", fix, False, means
        )
    outcome = ": the API server refuses such Pods" if of_pod else ""
    return OddAmount(field, resource, f"no pod can request a resource {resource}{outcome}", fix, of_pod, means)


def odd_value(field: str, resource: object, value: object, *, of_pod: bool = True) -> Iterator[OddAmount]:
    """The odd amount in a value as written; none if it is plausible."""
    if not isinstance(resource, str) or value is None or _is_common(resource, value):
        return
    quantity = Quantity.read(value)  # the API server rejects values that are not quantities
    if quantity and (found := odd_quantity(field, resource, quantity, of_pod=of_pod)):
        yield found


def _is_common(resource: str, value: object) -> bool:
    """Whether the amount is plausible without parsing it. This saves time, since a cluster has many Pods."""
    written = str(value)
    if resource == "cpu":
        return written.isdigit() or (written.endswith("m") and written[:-1].isdigit())
    return written.isdigit() if _is_device(resource) else (written.endswith(("Mi", "Gi")) and written[:-2].isdigit())


def odd_quantity(
    field: str, resource: str, quantity: Quantity, *, of_pod: bool = False, rounded_by: str = ""
) -> OddAmount | None:
    """The fault of an implausible amount, or None. `rounded_by`: the project that counts a part of a device as one."""
    outcome = "the API server refuses such Pods" if of_pod else ""
    if rounded_by:
        outcome = f"{rounded_by} counts {-(-quantity.nano // _UNIT)}"
    if (found := _implausible(resource, quantity, outcome)) is None:
        return None
    message, fix = found
    return OddAmount(field, resource, message, fix, of_pod and _is_device(resource))


def odd_in_yunikorn(field: str, resource: str, text: str) -> OddAmount | None:
    """The odd amount in a quota of YuniKorn. One unit is not odd: it closes a queue, while 0 alone means no quota."""
    quantity = Quantity.read(text)  # other rules report texts that are not quantities
    return None if quantity is None or quantity.nano == _UNIT else odd_quantity(field, resource, quantity)


def _implausible(resource: str, quantity: Quantity, outcome: str) -> tuple[str, str] | None:
    """The message and the fix, or None. `outcome`: the effect of a fraction of a device."""
    text, nano = quantity.text, quantity.nano
    if resource in _BYTES or resource.startswith("hugepages-"):
        if nano % _UNIT and text[-1] in _FRACTIONS and 0 < nano < _SMALL * _UNIT:
            return f"{resource}={text} is a fraction of a byte: {text[-1]} is not a unit of bytes", _bytes(text)
        if 0 < nano < _FEW * _UNIT:
            count = -(-nano // _UNIT)
            return f"{resource}={text} is {count} byte{'s' if count > 1 else ''}", _bytes(text)
    elif resource in _CORES:
        if nano and text.endswith(_LARGE):
            return f"{resource}={text} is {nano // _UNIT} cores", "write cores, such as 4, or thousandths, such as 500m"
    elif nano % _UNIT and _is_device(resource):
        message = f"{resource}={text} is a fraction, and devices come whole"
        return f"{message}: {outcome}" if outcome else message, "write a whole number"
    return None


def _bytes(text: str) -> str:
    if "e" in text.lower():
        return "write the unit that was meant, as in 64Mi or 64Gi"
    number = text.rstrip("numkKMGTPEi")
    return f"write {number}Mi or {number}Gi if that was meant"


def _is_device(resource: str) -> bool:
    return "/" in resource and "kubernetes.io/" not in resource
