"""Why a flavor cannot serve a pod set, as data; `scheduling.flavors.messages` has the words.

Source: Kueue v0.19, pkg/scheduler/flavorassigner and the reasons of condition QuotaReserved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from scheduling.objects.amounts import FlavorResource, minus
from scheduling.objects.resource_flavor import Taint

WAITING_FOR_QUOTA = "WaitingForQuota"
EXCEEDS_MAX_QUOTA = "ExceedsMaxQuota"
NO_MATCHING_FLAVOR = "NoMatchingFlavor"
_BY_SEVERITY = ("", WAITING_FOR_QUOTA, EXCEEDS_MAX_QUOTA, NO_MATCHING_FLAVOR)


def severity(no_fit_reason: str) -> int:
    """Higher where less can be hoped for by waiting; 0 of no reason."""
    return _BY_SEVERITY.index(no_fit_reason)


@dataclass(frozen=True, slots=True)
class Undeclared:
    """No resource group of the ClusterQueue covers the resource."""

    resource: str
    no_fit: ClassVar[str] = NO_MATCHING_FLAVOR


@dataclass(frozen=True, slots=True)
class Missing:
    """There is no ResourceFlavor of that name."""

    flavor: str
    no_fit: ClassVar[str] = NO_MATCHING_FLAVOR


@dataclass(frozen=True, slots=True)
class NotAllowed:
    """The workload names the flavors that it may use, and this is none of them."""

    flavor: str
    no_fit: ClassVar[str] = NO_MATCHING_FLAVOR


@dataclass(frozen=True, slots=True)
class NotNominated:
    """Earlier in the same cycle the workload was nominated for another flavor, and keeps to it."""

    flavor: str
    resource: str
    no_fit: ClassVar[str] = NO_MATCHING_FLAVOR


@dataclass(frozen=True, slots=True)
class HeldByPredecessor:
    """The workload grows out of one that holds another flavor, and keeps to it."""

    flavor: str
    held: str
    no_fit: ClassVar[str] = NO_MATCHING_FLAVOR


@dataclass(frozen=True, slots=True)
class ForTopology:
    """The flavor serves pod sets with a topology request only."""

    flavor: str
    no_fit: ClassVar[str] = NO_MATCHING_FLAVOR


@dataclass(frozen=True, slots=True)
class WithoutTopology:
    """The pod set has a topology request, and the flavor no topology."""

    flavor: str
    no_fit: ClassVar[str] = NO_MATCHING_FLAVOR


@dataclass(frozen=True, slots=True)
class Untolerated:
    """The pods do not tolerate a taint of the flavor's nodes."""

    flavor: str
    taint: Taint
    no_fit: ClassVar[str] = NO_MATCHING_FLAVOR


@dataclass(frozen=True, slots=True)
class Unselected:
    """The node selector or affinity of the pods contradicts the flavor's labels."""

    flavor: str
    no_fit: ClassVar[str] = NO_MATCHING_FLAVOR


@dataclass(frozen=True, slots=True)
class BeyondMaximum:
    """More than there would be were nothing in use: `earlier` for pod sets before, and `asked`, against `maximum`."""

    pair: FlavorResource
    earlier: int
    asked: int
    maximum: int
    no_fit: ClassVar[str] = EXCEEDS_MAX_QUOTA


@dataclass(frozen=True, slots=True)
class Short:
    """More than is free now. `wanted` is of all pod sets up to this one together."""

    pair: FlavorResource
    wanted: int
    free: int
    no_fit: ClassVar[str] = WAITING_FOR_QUOTA

    @property
    def lacking(self) -> int:
        return minus(self.wanted, self.free)


Reason: TypeAlias = (
    Undeclared
    | Missing
    | NotAllowed
    | NotNominated
    | HeldByPredecessor
    | ForTopology
    | WithoutTopology
    | Untolerated
    | Unselected
    | BeyondMaximum
    | Short
)
