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

    `score` orders the workers of the incremental dispatcher: as the config lists them, by most free quota (Spread) or
    least (Pack), or by free quota times `weights` (default 1). `selector` selects some of the config's clusters by the
    labels of their MultiKueueCluster. After `rounds` of five minutes without an admission the workload is rejected;
    None: it waits without a limit.
    """

    score: str = AS_LISTED
    weights: Mapping[str, int] = field(default_factory=dict)
    selector: LabelSelector = field(default_factory=LabelSelector)
    rounds: int | None = None


@dataclass(frozen=True, slots=True)
class PlacementSettings:
    """Kueue's Configuration.multiKueue, and our own settings. Times in nanoseconds.

    `origin` identifies this manager on a worker. `collect_every`: the interval of garbage collection, 0: never.
    `by_name`: the incremental dispatcher sorts workers by name, as Kueue did before 0.19, not in the config's order.
    `elastic`, `gated`, `orchestrated`, `syncs_spec`, `annotated`, `short`: Kueue's gates ElasticJobsViaWorkloadSlices,
    MultiKueueOrchestratedPreemption, DynamicQuotaOrchestration, MultiKueueRemoteSpecSync, WorkloadIdentifierAnnotations
    and ShortWorkloadNames.
    `without_managed_by`: a job without `managedBy: kueue.x-k8s.io/multikueue` is rejected, as in Kueue, or stays
    suspended on the manager while it runs on a worker. `explain`: the check says why no worker admits the workload.
    `rules` by the name of the MultiKueueConfig.
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
    explain: bool = True
    rules: Mapping[str, PlacementRules] = field(default_factory=dict)

    def rules_of(self, config: str) -> PlacementRules:
        return self.rules.get(config, _NO_RULES)


_NO_RULES = PlacementRules()
