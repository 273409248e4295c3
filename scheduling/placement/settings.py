"""How workloads are placed, whatever the objects say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduling.objects.selectors import LabelSelector
from scheduling.objects.times import SECOND

ALL_AT_ONCE = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"
INCREMENTAL = "kueue.x-k8s.io/multikueue-dispatcher-incremental"
ROUND = 5 * 60 * SECOND
"""How long the workers of one round are waited for. Source: Kueue v0.19, incremental dispatcher."""

AS_LISTED, SPREAD, PACK, WEIGHTED = "AsListed", "Spread", "Pack", "Weighted"
SCORES = (AS_LISTED, SPREAD, PACK, WEIGHTED)
REJECT, KEEP_SUSPENDED = "Reject", "KeepSuspended"


@dataclass(frozen=True, slots=True)
class Rules:
    """What Kueue's MultiKueueConfig has no place for.

    `score` orders the workers of the incremental dispatcher: as the config lists them, those with the most free quota
    first (Spread) or last (Pack), or by free quota times `weights` (1 where none is told). `selector` takes some of the
    config's clusters only, by the labels of their MultiKueueCluster. After `rounds` of five minutes in which nobody
    admitted it the workload is rejected; None: it waits for ever.
    """

    score: str = AS_LISTED
    weights: Mapping[str, int] = field(default_factory=dict)
    selector: LabelSelector = field(default_factory=LabelSelector)
    rounds: int | None = None


@dataclass(frozen=True, slots=True)
class Placing:
    """Kueue's Configuration.multiKueue, and what is ours. Times in nanoseconds.

    `origin` tells the managers of one worker apart. `collect_every`: how often leftovers are looked for, 0 never.
    `by_name`: the incremental dispatcher goes by names instead of the config's order, as Kueue did before 0.19.
    `elastic`, `gated`: Kueue's gates ElasticJobsViaWorkloadSlices and MultiKueueOrchestratedPreemption.
    `without_managed_by`: a job that does not say `managedBy: kueue.x-k8s.io/multikueue` is rejected, as Kueue does, or
    stays suspended here while it runs elsewhere. `explain`: the check says why no worker took the workload.
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
    without_managed_by: str = KEEP_SUSPENDED
    explain: bool = True
    rules: Mapping[str, Rules] = field(default_factory=dict)

    def rules_of(self, config: str) -> Rules:
        return self.rules.get(config, _NO_RULES)


_NO_RULES = Rules()
