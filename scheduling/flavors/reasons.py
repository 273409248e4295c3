"""Why a flavor cannot serve a pod set, as data. `scheduling.flavors.messages` has the texts.

Source: Kueue v0.19, pkg/scheduler/flavorassigner and the reasons of condition QuotaReserved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from policies.dialects.taints import Taint
from scheduling.objects.amounts import FlavorResource, minus
from scheduling.objects.inadmissible_reasons import (
    EXCEEDS_MAX_QUOTA,
    NO_MATCHING_FLAVOR,
    TOPOLOGY_PLACEMENT_FAILED,
    WAITING_FOR_QUOTA,
)

_BY_SEVERITY = ("", TOPOLOGY_PLACEMENT_FAILED, WAITING_FOR_QUOTA, EXCEEDS_MAX_QUOTA, NO_MATCHING_FLAVOR)


def severity(no_fit_reason: str) -> int:
    """The severity of a reason: higher if waiting is less likely to help, 0 for no reason."""
    return _BY_SEVERITY.index(no_fit_reason)


@dataclass(frozen=True)
class _OfFlavor:
    """A reason that concerns a flavor as a whole."""

    flavor: str
    no_fit: ClassVar[str] = NO_MATCHING_FLAVOR


@dataclass(frozen=True, slots=True)
class Undeclared:
    """No resource group of the ClusterQueue covers the resource."""

    resource: str
    no_fit: ClassVar[str] = NO_MATCHING_FLAVOR


class Missing(_OfFlavor):
    """The ResourceFlavor does not exist."""


class FlavorNotAllowed(_OfFlavor):
    """The annotation of the workload with its allowed flavors does not name this one."""


@dataclass(frozen=True)
class NotNominated(_OfFlavor):
    """The workload was nominated with another flavor earlier in the same cycle, and keeps that."""

    resource: str


@dataclass(frozen=True)
class FlavorOfPredecessor(_OfFlavor):
    """The workload that this one replaces has another flavor, which must be kept."""

    held: str


class ForTopology(_OfFlavor):
    """The flavor has a topology, but the pod set has no topology request."""


class WithoutTopology(_OfFlavor):
    """The pod set has a topology request, but the flavor has no topology."""


class TopologyUnknown(_OfFlavor):
    """The flavor has a topology, but its Topology does not exist."""


class WithoutLevel(_OfFlavor):
    """The topology of the flavor does not have a level that the pod set requests."""


@dataclass(frozen=True, slots=True)
class NoPlace:
    """The pods have no place in the topology now; `why` is in Kueue's words."""

    why: str
    no_fit: ClassVar[str] = WAITING_FOR_QUOTA


@dataclass(frozen=True)
class Untolerated(_OfFlavor):
    """The pods do not tolerate a taint of the flavor's nodes."""

    taint: Taint


class Unselected(_OfFlavor):
    """The node selector or affinity of the pods contradicts the flavor's labels."""


@dataclass(frozen=True, slots=True)
class BeyondMaximum:
    """The request can never fit: `earlier` pod sets and `requested` together exceed `maximum`."""

    pair: FlavorResource
    earlier: int
    requested: int
    maximum: int
    no_fit: ClassVar[str] = EXCEEDS_MAX_QUOTA


@dataclass(frozen=True, slots=True)
class Short:
    """The request exceeds the free amount. `wanted`: the sum of all pod sets up to this one."""

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
    | FlavorNotAllowed
    | NotNominated
    | FlavorOfPredecessor
    | ForTopology
    | WithoutTopology
    | TopologyUnknown
    | WithoutLevel
    | NoPlace
    | Untolerated
    | Unselected
    | BeyondMaximum
    | Short
)
