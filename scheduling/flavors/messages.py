"""The texts for results of a search for flavors, as Kueue writes them into conditions and events.

Users search for these texts and dashboards match them, so they keep Kueue's wording.
Source: Kueue v0.19, pkg/scheduler/flavorassigner.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from policies.model.quantity import Quantity
from scheduling.flavors.assignment import FlavorAssignment, PodSetAssignment
from scheduling.flavors.modes import Mode
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
_MODES = {
    Mode.NO_FIT: "NoFit",
    Mode.NO_CANDIDATES: "preemptionMode=NoCandidates",
    Mode.PREEMPT: "preemptionMode=Preempt",
    Mode.RECLAIM: "preemptionMode=Reclaim",
    Mode.FIT: "Fit",
}


def assignment_text(assignment: FlavorAssignment) -> str:
    """Why the workload does not fit at once, by pod set; empty if it does. The first fault says all."""
    for pod_set in assignment.pod_sets:
        if pod_set.fault:
            return f"failed to assign flavors to pod set {pod_set.name}: {pod_set.fault}"
    return "; ".join(_pod_set_text(pod_set) for pod_set in assignment.pod_sets if pod_set.reasons)


def _pod_set_text(pod_set: PodSetAssignment) -> str:
    reasons = ", ".join(sorted(map(text, pod_set.reasons)))
    return f"couldn't assign flavors to pod set {pod_set.name}: {reasons}"


def considered_text(assignment: FlavorAssignment) -> str:
    """The flavors that were tried and do not fit within the ClusterQueue's own quota, by pod set; empty if all do."""
    tried = [(pod_set.name, ", ".join(_attempts(pod_set))) for pod_set in assignment.pod_sets]
    return " | ".join(f"{name}: {attempts}" for name, attempts in tried if attempts)


def _attempts(pod_set: PodSetAssignment) -> Iterator[str]:
    for attempt in sorted(pod_set.attempts, key=lambda each: each.flavor):
        if attempt.mode != Mode.FIT or attempt.level:
            borrowed = [f"borrow={attempt.level}"] if attempt.level else []
            reasons = sorted({text(reason) for reason in attempt.reasons})
            yield f"{attempt.flavor}({';'.join([_MODES[attempt.mode], *borrowed, *reasons])})"


@lru_cache(maxsize=4096)
def amount_text(resource: str, amount: int) -> str:
    """The amount as a quantity: bytes in powers of 1024, everything else in powers of 1000."""
    if resource == "cpu" or resource in _WITH_BINARY_UNITS or resource.startswith("hugepages-"):
        return str(amounts.quantity_of(resource, amount))
    return str(Quantity.of_nano(amount * _UNIT))


def text(reason: Reason) -> str:
    match reason:
        case Short(pair=(flavor, resource), lacking=lacking):
            return (
                f"insufficient unused quota for {resource} in flavor {flavor}, {amount_text(resource, lacking)} more"
                " needed"
            )
        case BeyondMaximum((flavor, resource), earlier, requested, maximum):
            return (
                f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests"
                f" ({amount_text(resource, earlier)}) + current podset request ({amount_text(resource, requested)})"
                f" > maximum capacity ({amount_text(resource, maximum)})"
            )
        case NoPlace(why):
            return why
        case Undeclared(resource):
            return f"resource {resource} unavailable in ClusterQueue"
        case Missing(flavor):
            return f"flavor {flavor} not found"
        case FlavorNotAllowed(flavor):
            return f"skipping flavor {flavor} due to WorkloadAllowedResourceFlavorAnnotation annotation"
        case NotNominated(flavor, resource):
            return f"skipping flavor {flavor} as it is not found in the nomination mapping for resource {resource}"
        case FlavorOfPredecessor(flavor, held):
            return f"could not assign {flavor} flavor since the original workload is assigned: {held}"
        case ForTopology(flavor):
            return f'Flavor "{flavor}" supports only TopologyAwareScheduling'
        case WithoutTopology(flavor):
            return f'Flavor "{flavor}" does not support TopologyAwareScheduling'
        case TopologyUnknown(flavor):
            return f'Flavor "{flavor}" information missing in TAS cache'
        case WithoutLevel(flavor):
            return f'Flavor "{flavor}" does not contain the requested level'
        case Untolerated(flavor, taint):
            return f"untolerated taint {{{taint.key} {taint.value} {taint.effect} <nil>}} in flavor {flavor}"
        case Unselected(flavor):
            return f"flavor {flavor} doesn't match node affinity"
