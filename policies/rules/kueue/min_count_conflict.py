from __future__ import annotations

from collections.abc import Iterator

from policies.cel.expression import Expression, list_of_spec
from policies.dialects.kueue import WORKLOAD
from policies.dialects.kueue_workload import WrittenWorkload
from policies.judging.rule import Proposal, rule
from policies.model.findings import Finding

_CEL = """\
variables.sets.filter(s, has(s.minCount)).size() > 1
  && variables.sets.filter(s, has(s.minCount)).size() > variables.old_sets.filter(s, has(s.minCount)).size()
? string(variables.sets.filter(s, has(s.minCount)).size()) + ' pod sets have a minCount, at most 1 may have one' : ''"""


@rule(
    "min-count-conflict",
    source="Kueue: webhook of Workload",
    kinds=(WORKLOAD,),
    alone=True,
    cel=[Expression((WORKLOAD,), _CEL, list_of_spec("sets", "podSets"))],
)
def min_count_conflict(proposal: Proposal) -> Iterator[Finding]:
    """More than one pod set of a Workload has a minCount, or a pod set of an elastic job has one.

    Why it is refused: if quota is short, Kueue reduces the pods of a pod set with minCount until they fit. With two
    such pod sets, it is undefined which one gets smaller. An elastic job changes its size itself, so it and Kueue would
    change the same number.
    Example: `minCount: 2` in the pod sets `driver` and `workers`.
    Fix: keep minCount in one pod set; remove it from elastic jobs.
    """
    slicing = proposal.configuration.kueue.enabled("ElasticJobsViaWorkloadSlices")
    for _, workload in proposal.changed(WrittenWorkload):
        reducible = [pod_set.name for pod_set in workload.pod_sets if pod_set.min_count is not None]
        if len(reducible) > 1:
            yield Finding(
                workload.ref,
                "spec.podSets",
                f"{len(reducible)} pod sets have a minCount: {', '.join(reducible)}; at most 1 may have one",
                fix="keep minCount in the pod set that may start smaller",
                subject="several",
                excess=len(reducible),
            )
        if reducible and workload.elastic and slicing:
            yield Finding(
                workload.ref,
                "spec.podSets",
                f"an elastic job cannot have a minCount, but pod set {reducible[0]} has one",
                fix="remove minCount, or the annotation kueue.x-k8s.io/elastic-job",
                subject="elastic",
            )
