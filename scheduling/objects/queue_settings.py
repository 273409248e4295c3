"""The settings of ClusterQueues, Cohorts, LocalQueues and AdmissionChecks that decisions need.

They are read from manifests of any served version. For an absent field, Kueue's assumption before an API server fills
in defaults holds: no preemption, `MayStopSearch` when borrowing, `TryNextFlavor` when preempting.
Source: Kueue v0.19, apis/kueue/v1beta2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from policies.dialects.kueue import AdmissionCheckUse, KueueNode, read_cluster_queue, read_cohort
from policies.dialects.kueue_state import NEVER
from policies.dialects.reading import Manifest, ManifestReader, condition, listing, mapping, text
from policies.dialects.selectors import LabelSelector, read_label_selector
from policies.model.pools import Terms
from scheduling.objects import times
from scheduling.objects.amounts import FlavorResource

ANY = "Any"
LOWER_PRIORITY = "LowerPriority"
LOWER_OR_NEWER = "LowerOrNewerEqualPriority"
TRY_NEXT_FLAVOR = "TryNextFlavor"
MAY_STOP_SEARCH = "MayStopSearch"
BORROWING_OVER_PREEMPTION = "BorrowingOverPreemption"
PREEMPTION_OVER_BORROWING = "PreemptionOverBorrowing"
STRICT_FIFO = "StrictFIFO"
BEST_EFFORT_FIFO = "BestEffortFIFO"
_OLD_FUNGIBILITY = {"Borrow": MAY_STOP_SEARCH, "Preempt": MAY_STOP_SEARCH}
NO_STOP = "None"
"""The stopPolicy of a queue that is not stopped."""
UNIT_WEIGHT = 10**9
"""The fairSharing.weight 1. Weights are in units of 1e-9."""


@dataclass(frozen=True, slots=True)
class FlavorGroup:
    """A resource group: resources that get the same flavor, and the flavors in the order in which they are tried."""

    resources: frozenset[str]
    flavors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PreemptionPolicy:
    """spec.preemption. `threshold`: the highest priority that a borrowing workload may preempt; None means any."""

    within_cluster_queue: str = NEVER
    reclaim_within_cohort: str = NEVER
    borrow_within_cohort: str = NEVER
    threshold: int | None = None


@dataclass(frozen=True, slots=True)
class Fungibility:
    """spec.flavorFungibility: when to try the next flavor, and whether to prefer borrowing or preempting."""

    when_can_borrow: str = MAY_STOP_SEARCH
    when_can_preempt: str = TRY_NEXT_FLAVOR
    preference: str = BORROWING_OVER_PREEMPTION


@dataclass(frozen=True, slots=True)
class CohortSettings:
    """A Cohort. `terms`: its quota and limits by pair. `weight`: in units of 1e-9."""

    name: str
    parent: str | None
    terms: Mapping[FlavorResource, Terms]
    weight: int = UNIT_WEIGHT


@dataclass(frozen=True, slots=True)
class ClusterQueueSettings:
    """A ClusterQueue.

    terms: its quota and limits by pair.
    groups: its resource groups.
    weight: in units of 1e-9.
    selector: None selects no namespace.
    usage_based: admission fair sharing orders its LocalQueues by their recent usage.
    """

    name: str
    cohort: str | None
    terms: Mapping[FlavorResource, Terms]
    groups: tuple[FlavorGroup, ...]
    weight: int = UNIT_WEIGHT
    strategy: str = BEST_EFFORT_FIFO
    selector: LabelSelector | None = None
    stop_policy: str = NO_STOP
    preemption: PreemptionPolicy = PreemptionPolicy()
    fungibility: Fungibility = Fungibility()
    checks: tuple[AdmissionCheckUse, ...] = ()
    usage_based: bool = False

    @property
    def stopped(self) -> bool:
        return self.stop_policy != NO_STOP

    @property
    def flavors(self) -> list[str]:
        return [flavor for group in self.groups for flavor in group.flavors]

    def group_of(self, resource: str) -> FlavorGroup | None:
        return next((group for group in self.groups if resource in group.resources), None)


def read_cohort_settings(manifest: Manifest, *, orchestrated: bool = False) -> CohortSettings:
    """Read a Cohort.

    orchestrated: status.effectiveQuotas applies (Kueue's gate DynamicQuotaOrchestration, off by default).
    """
    cohort = read_cohort(manifest, checked=False, orchestrated=orchestrated)
    return CohortSettings(cohort.name, cohort.parent.name if cohort.parent else None, _terms(cohort), _weight(cohort))


def read_queue_settings(manifest: Manifest, *, stored: bool = True, orchestrated: bool = False) -> ClusterQueueSettings:
    """Read a ClusterQueue.

    stored: whether the object comes from an API server. If not, Kueue does not fill in some empty policies.
    """
    queue = read_cluster_queue(manifest, checked=False, orchestrated=orchestrated)
    spec = mapping(manifest.get("spec"))
    scope = mapping(spec.get("admissionScope"))
    return ClusterQueueSettings(
        name=queue.name,
        cohort=queue.parent.name if queue.parent else None,
        terms=_terms(queue),
        groups=tuple(
            FlavorGroup(frozenset(group.covered_resources), tuple(flavor.name for flavor in group.flavors))
            for group in queue.in_force
        ),
        weight=_weight(queue),
        strategy=queue.queueing_strategy,
        selector=read_label_selector(spec.get("namespaceSelector")),
        stop_policy=queue.stop_policy,
        preemption=_preemption(spec.get("preemption"), NEVER if stored else ""),
        fungibility=_fungibility(mapping(spec.get("flavorFungibility"))),
        checks=queue.checks,
        usage_based=scope.get("admissionMode") == "UsageBasedAdmissionFairSharing",
    )


def _terms(node: KueueNode) -> dict[FlavorResource, Terms]:
    return {
        FlavorResource(flavor.name, quota.name): quota.terms()
        for group in node.in_force
        for flavor in group.flavors
        for quota in flavor.resources
    }


def _weight(node: KueueNode) -> int:
    return UNIT_WEIGHT if node.weight is None else node.weight.nano


def _preemption(value: object, absent: str) -> PreemptionPolicy:
    if value is None:
        return PreemptionPolicy()
    spec = mapping(value)
    borrow = mapping(spec.get("borrowWithinCohort"))
    threshold = borrow.get("maxPriorityThreshold")
    return PreemptionPolicy(
        text(spec.get("withinClusterQueue")) or absent,
        text(spec.get("reclaimWithinCohort")) or absent,
        text(borrow.get("policy")) or (NEVER if spec.get("borrowWithinCohort") is None else absent),
        threshold if isinstance(threshold, int) else None,
    )


def _fungibility(spec: Mapping[str, object]) -> Fungibility:
    borrow, preempt = text(spec.get("whenCanBorrow")), text(spec.get("whenCanPreempt"))
    return Fungibility(
        _OLD_FUNGIBILITY.get(borrow or "", borrow) or MAY_STOP_SEARCH,
        _OLD_FUNGIBILITY.get(preempt or "", preempt) or TRY_NEXT_FLAVOR,
        text(spec.get("preference")) or BORROWING_OVER_PREEMPTION,
    )


@dataclass(frozen=True, slots=True)
class LocalQueueSettings:
    """A LocalQueue.

    `cluster_queue`: empty if it names none.
    `weight`: for admission fair sharing, in units of 1e-9.
    `created`: the time of creation in nanoseconds.
    """

    namespace: str
    name: str
    cluster_queue: str
    stop_policy: str = NO_STOP
    weight: int = UNIT_WEIGHT
    created: int = 0

    @property
    def stopped(self) -> bool:
        return self.stop_policy != NO_STOP

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class CheckParameters:
    """The object that an AdmissionCheck names for its controller."""

    group: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """An AdmissionCheck. `active`: its condition Active is True. `parameters`: None if it names no object."""

    name: str
    controller: str
    active: bool
    parameters: CheckParameters | None = None


def read_local_queue_settings(manifest: Manifest) -> LocalQueueSettings:
    meta, spec = mapping(manifest.get("metadata")), mapping(manifest.get("spec"))
    weight = ManifestReader({}).quantity(mapping(spec.get("fairSharing")).get("weight"), "spec.fairSharing.weight")
    return LocalQueueSettings(
        text(meta.get("namespace")) or "",
        text(meta.get("name")) or "",
        text(spec.get("clusterQueue")) or "",
        text(spec.get("stopPolicy")) or NO_STOP,
        UNIT_WEIGHT if weight is None else weight.nano,
        times.parse(meta.get("creationTimestamp")),
    )


class TopologySettings(NamedTuple):
    """A Topology. `levels`: labels of nodes, coarsest first."""

    name: str
    levels: tuple[str, ...]


def read_topology_settings(manifest: Manifest) -> TopologySettings:
    levels = map(mapping, listing(mapping(manifest.get("spec")).get("levels")))
    name = text(mapping(manifest.get("metadata")).get("name")) or ""
    return TopologySettings(name, tuple(text(each.get("nodeLabel")) or "" for each in levels))


def read_check_settings(manifest: Manifest) -> CheckSettings:
    spec, status = mapping(manifest.get("spec")), mapping(manifest.get("status"))
    return CheckSettings(
        text(mapping(manifest.get("metadata")).get("name")) or "",
        text(spec.get("controllerName")) or "",
        condition(status, "Active").get("status") == "True",
        _parameters(spec.get("parameters")),
    )


def _parameters(value: object) -> CheckParameters | None:
    reference = mapping(value)
    if not reference:
        return None
    return CheckParameters(*(text(reference.get(key)) or "" for key in ("apiGroup", "kind", "name")))
