"""Settings of placement: Kueue's Configuration.multiKueue, and our own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from policies.dialects.selectors import LabelSelector
from scheduling.objects.times import SECOND

ALL_AT_ONCE = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"
INCREMENTAL = "kueue.x-k8s.io/multikueue-dispatcher-incremental"
ROUND = 5 * 60 * SECOND
"""How long a round of nominations lasts. Source: Kueue v0.19, incremental dispatcher."""

AS_LISTED, SPREAD, PACK, WEIGHTED = "AsListed", "Spread", "Pack", "Weighted"
REJECT, KEEP_SUSPENDED = "Reject", "KeepSuspended"


@dataclass(frozen=True, slots=True)
class PlacementRules:
    """Our settings for a MultiKueueConfig, which has no fields for them.

    score: the order of workers in the incremental dispatcher: as listed, by most free quota (Spread), by least free
        quota (Pack), or by free quota times weight (Weighted).
    weights: by the name of the worker, 1 by default.
    selector: selects clusters of the config by the labels of their MultiKueueCluster.
    rounds: after this many rounds of five minutes without an admission the workload is rejected; None for no limit.
    """

    score: str = AS_LISTED
    weights: Mapping[str, int] = field(default_factory=dict)
    selector: LabelSelector = field(default_factory=LabelSelector)
    rounds: int | None = None


@dataclass(frozen=True, slots=True)
class PlacementSettings:
    """Kueue's Configuration.multiKueue, and our own settings. Times are in nanoseconds.

    origin: identifies this manager on a worker.
    worker_lost: workerLostTimeout, after which an unreachable worker is given up.
    collect_every: the interval of garbage collection; 0 for never.
    dispatcher: dispatcherName. step: how many workers a round of the incremental dispatcher adds.
    by_name: the incremental dispatcher sorts workers by name, as Kueue before 0.19, not in the order of the config.
    elastic: Kueue's gate ElasticJobsViaWorkloadSlices.
    gated: Kueue's gate MultiKueueOrchestratedPreemption.
    orchestrated: Kueue's gate DynamicQuotaOrchestration.
    syncs_spec: Kueue's gate MultiKueueRemoteSpecSync.
    annotated: Kueue's gate WorkloadIdentifierAnnotations.
    short: Kueue's gate ShortWorkloadNames.
    without_managed_by: whether a job without `managedBy: kueue.x-k8s.io/multikueue` is rejected, as in Kueue, or stays
        suspended on the manager while it runs on a worker.
    rules: by the name of the MultiKueueConfig.
    """

    origin: str = "multikueue"
    worker_lost: int = 15 * 60 * SECOND
    collect_every: int = 60 * SECOND
    dispatcher: str = ALL_AT_ONCE
    step: int = 3
    by_name: bool = False
    elastic: bool = False
    gated: bool = False
    orchestrated: bool = False
    syncs_spec: bool = True
    annotated: bool = True
    short: bool = False
    without_managed_by: str = KEEP_SUSPENDED
    rules: Mapping[str, PlacementRules] = field(default_factory=dict)

    def rules_of(self, config: str) -> PlacementRules:
        return self.rules.get(config, _NO_RULES)


_NO_RULES = PlacementRules()
