"""Quantities as decisions count them: exact integers by resource, or by pair of flavor and resource.

The unit is milli-CPU for cpu and a whole unit for everything else, rounded up. Amounts are limited to 64 bits;
UNLIMITED is quota without a limit. Sums and differences are those of `policies.model.pools`. Source: Kueue v0.19,
pkg/resources.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias, TypeVar

from policies.dialects.reading import mapping
from policies.model.pools import LEAST, UNLIMITED, minus, plus
from policies.model.quantity import INT64_MAX, BadQuantity, Quantities, Quantity

__all__ = ["LEAST", "UNLIMITED", "FlavorResource", "Requests", "Usage", "add_to", "minus", "plus"]

K = TypeVar("K")
_CPU = "cpu"
_MILLI = 10**6
_UNIT = 10**9


class FlavorResource(NamedTuple):
    """The pair by which quota is counted. `flavor`: empty if none is assigned."""

    flavor: str
    resource: str

    def __str__(self) -> str:
        return f"{self.flavor}/{self.resource}"

    @classmethod
    def parse(cls, text: str) -> FlavorResource:
        """Parse "flavor/resource". The name of a flavor has no slash."""
        flavor, _, resource = text.partition("/")
        return cls(flavor, resource)


Requests: TypeAlias = Mapping[str, int]
"""Amounts by resource."""
Usage: TypeAlias = Mapping[FlavorResource, int]
"""Amounts by pair."""


def add_to(total: dict[K, int], more: Mapping[K, int], times: int = 1) -> None:
    """Add `times` the amounts in place; with `times` -1, subtract them. Amounts that become 0 are removed."""
    for resource, amount in more.items():
        left = total.get(resource, 0) + times * amount
        if left:
            total[resource] = left
        else:
            total.pop(resource, None)


# -- between quantities and amounts ------------------------------------------------------------------------------------


def requested(resource: str, quantity: Quantity) -> int:
    """The amount of a request, clamped to 64 bits."""
    return max(LEAST, min(quantity.milli() if resource == _CPU else quantity.units(), INT64_MAX))


def quantity_of(resource: str, amount: int) -> Quantity:
    """The amount as a quantity. A multiple of 1024 gets a binary suffix, which is shorter."""
    if resource == _CPU:
        return Quantity.of_nano(amount * _MILLI)
    short = amount % 1024 == 0 and amount != LEAST  # it cannot be written with a binary suffix
    return Quantity.of_nano(amount * _UNIT, "BinarySI" if short else "DecimalSI")


def approximate(resource: str, amount: int) -> float:
    """The amount in cores or whole units, for metrics only. UNLIMITED is infinite."""
    if amount == UNLIMITED:
        return float("inf")
    return amount / 1000 if resource == _CPU else float(amount)


def counted(quantities: Quantities) -> dict[str, int]:
    """The amounts of requests for these quantities, by resource."""
    return {resource: requested(resource, quantity) for resource, quantity in quantities.items()}


def read(values: object) -> dict[str, int]:
    """The amounts of a manifest's resource list. Invalid quantities are left out, since the schema reports them."""
    found: dict[str, int] = {}
    for resource, value in mapping(values).items():
        try:
            found[resource] = requested(resource, Quantity.parse(value))
        except BadQuantity:
            continue
    return found


def resource_list(amounts: Requests) -> dict[str, Any]:
    """The amounts as a resource list for a manifest."""
    return {resource: str(quantity_of(resource, amount)) for resource, amount in amounts.items()}


# -- by resource -------------------------------------------------------------------------------------------------------


def times(requests: Requests, factor: int) -> dict[str, int]:
    """The requests times `factor`, clamped to 64 bits."""
    return {resource: max(LEAST, min(amount * factor, INT64_MAX)) for resource, amount in requests.items()}


def divided(requests: Requests, by: int) -> dict[str, int]:
    """The requests divided by `by`, rounded down; 0 if `by` is 0."""
    return {resource: amount // by if by else 0 for resource, amount in requests.items()}


def total(all_requests: Iterable[Requests]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for requests in all_requests:
        for resource, amount in requests.items():
            sums[resource] = max(LEAST, min(sums.get(resource, 0) + amount, INT64_MAX))
    return sums
