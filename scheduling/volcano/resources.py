"""Amounts as Volcano counts them: milli-CPU, bytes, whole pods, and thousandths of everything else.

They are integers, rounded up, so nothing here needs Volcano's tolerance of a tenth of a unit.
Source: Volcano v1.16, pkg/scheduler/api/resource_info.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf

from policies.dialects.volcano_resources import is_counted
from policies.model.quantity import Format, Quantity
from scheduling.queue_tree.amounts import Amounts, Limits, Shortage

CPU, MEMORY, PODS = "cpu", "memory", "pods"
_WHOLE = (MEMORY, PODS)
_MILLI = 10**6
_UNIT = 10**9


def counted(amounts: Mapping[str, Quantity]) -> dict[str, int]:
    """The amounts that Volcano counts. A resource with the amount 0 stays."""
    return {
        resource: amount.units() if resource in _WHOLE else amount.milli()
        for resource, amount in amounts.items()
        if is_counted(resource)
    }


def amount_text(resource: str, amount: float) -> str:
    """The amount as a Kubernetes quantity."""
    if amount == inf:
        return "unlimited"
    like: Format = "BinarySI" if resource in (MEMORY, "ephemeral-storage") else "DecimalSI"
    return str(Quantity.of_nano(nano(resource, amount), like))


def nano(resource: str, amount: float) -> int:
    """A finite amount in nano units."""
    return int(amount) * (_UNIT if resource in _WHOLE else _MILLI)


def some(amounts: Amounts) -> list[str]:
    """The resources with an amount above 0, in a stable order."""
    return sorted(resource for resource, amount in amounts.items() if amount > 0)


def limited_resources(request: Amounts) -> list[str]:
    """The resources that limits are checked for: all but `pods`, since every pod requests one."""
    return [resource for resource in some(request) if resource != PODS]


def is_nothing(amounts: Amounts) -> bool:
    return not limited_resources(amounts)


def fits(request: Amounts, room: Amounts) -> bool:
    """Whether a node has room for the request, pods included."""
    return all(amount <= room.get(resource, 0) for resource, amount in request.items() if amount > 0)


def shortages(queue: str, used: Amounts, request: Amounts, limit: Limits, unnamed: float = 0) -> Iterator[Shortage]:
    """Yield the resources of which the queue would exceed its limit.

    A resource without a limit has the limit `unnamed`.
    """
    for resource in limited_resources(request):
        there, most = used.get(resource, 0), limit.get(resource, unnamed)
        if there + request[resource] > most:
            yield Shortage(queue, resource, there, request[resource], most)


def shared_dimensions(a: Amounts, b: Amounts) -> set[str]:
    """The resources that both have with an amount above 0."""
    return {*some(a)} & {*some(b)}


def greatest(a: Amounts, b: Amounts) -> dict[str, int]:
    """The larger amount of each resource that either names."""
    return {resource: max(a.get(resource, 0), b.get(resource, 0)) for resource in {**a, **b}}
