"""The result of a search for flavors in words: the text that Kueue writes into conditions and events.

People search for these texts and dashboards match them, so they keep Kueue's wording.
Source: Kueue v0.19, pkg/scheduler/flavorassigner.
"""

from __future__ import annotations

from functools import lru_cache, singledispatch

from policies.model.quantity import Quantity
from scheduling.flavors.assignment import FlavorAssignment, PodSetAssignment
from scheduling.flavors.reasons import (
    BeyondMaximum,
    FlavorNotAllowed,
    FlavorOfPredecessor,
    ForTopology,
    Missing,
    NoPlace,
    NotNominated,
    Reason,
    Short,
    TopologyUnknown,
    Undeclared,
    Unselected,
    Untolerated,
    WithoutLevel,
    WithoutTopology,
)
from scheduling.objects import amounts

_WITH_BINARY_UNITS = ("memory", "ephemeral-storage")
_UNIT = 10**9


def assignment_text(assignment: FlavorAssignment) -> str:
    """Why the workload does not fit at once, by pod set; empty if it does."""
    return "; ".join(_pod_set_text(pod_set) for pod_set in assignment.pod_sets if pod_set.reasons or pod_set.fault)


def reasons_text(pod_set: PodSetAssignment) -> str:
    return ", ".join(sorted(text(reason) for reason in pod_set.reasons))


def _pod_set_text(pod_set: PodSetAssignment) -> str:
    if pod_set.fault:
        return f"failed to assign flavors to pod set {pod_set.name}: {pod_set.fault}"
    return f"couldn't assign flavors to pod set {pod_set.name}: {reasons_text(pod_set)}"


@lru_cache(maxsize=4096)
def written(resource: str, amount: int) -> str:
    """An amount as the API writes it: bytes in powers of 1024, everything else in powers of 1000."""
    if resource == "cpu" or resource in _WITH_BINARY_UNITS or resource.startswith("hugepages-"):
        return str(amounts.quantity_of(resource, amount))
    return str(Quantity.of_nano(amount * _UNIT))


@singledispatch
def text(reason: Reason) -> str:
    """One reason in words."""
    raise TypeError(f"unknown reason {reason!r}")


@text.register
def _(reason: Undeclared) -> str:
    return f"resource {reason.resource} unavailable in ClusterQueue"


@text.register
def _(reason: Missing) -> str:
    return f"flavor {reason.flavor} not found"


@text.register
def _(reason: FlavorNotAllowed) -> str:
    return f"skipping flavor {reason.flavor} due to WorkloadAllowedResourceFlavorAnnotation annotation"


@text.register
def _(reason: NotNominated) -> str:
    flavor, resource = reason.flavor, reason.resource
    return f"skipping flavor {flavor} as it is not found in the nomination mapping for resource {resource}"


@text.register
def _(reason: FlavorOfPredecessor) -> str:
    return f"could not assign {reason.flavor} flavor since the original workload is assigned: {reason.held}"


@text.register
def _(reason: ForTopology) -> str:
    return f'Flavor "{reason.flavor}" supports only TopologyAwareScheduling'


@text.register
def _(reason: WithoutTopology) -> str:
    return f'Flavor "{reason.flavor}" does not support TopologyAwareScheduling'


@text.register
def _(reason: TopologyUnknown) -> str:
    return f'Flavor "{reason.flavor}" information missing in TAS cache'


@text.register
def _(reason: WithoutLevel) -> str:
    return f'Flavor "{reason.flavor}" does not contain the requested level'


@text.register
def _(reason: NoPlace) -> str:
    return reason.why


@text.register
def _(reason: Untolerated) -> str:
    taint = reason.taint
    return f"untolerated taint {{{taint.key} {taint.value} {taint.effect} <nil>}} in flavor {reason.flavor}"


@text.register
def _(reason: Unselected) -> str:
    return f"flavor {reason.flavor} doesn't match node affinity"


@text.register
def _(reason: BeyondMaximum) -> str:
    flavor, resource = reason.pair
    return (
        f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests"
        f" ({written(resource, reason.earlier)}) + current podset request ({written(resource, reason.requested)})"
        f" > maximum capacity ({written(resource, reason.maximum)})"
    )


@text.register
def _(reason: Short) -> str:
    flavor, resource = reason.pair
    lacking = written(resource, reason.lacking)
    return f"insufficient unused quota for {resource} in flavor {flavor}, {lacking} more needed"
