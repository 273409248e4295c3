from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import WORKLOAD
from policies.dialects.kueue_workload import REPLACES, WrittenWorkload
from policies.judging.rule import Proposal, rule
from policies.model.findings import Finding


@rule(
    "cluster-not-nominated",
    source="Kueue: webhook of Workload (MultiKueue)",
    kinds=(WORKLOAD,),
    alone=True,
    no_cel="is about status, which Kueue writes",
)
def cluster_not_nominated(proposal: Proposal) -> Iterator[Finding]:
    """A Workload is assigned to a worker cluster that was not nominated for it.

    Why it is refused: only nominated clusters get a copy of the Workload. Another cluster has nothing to run, so the
    Workload would use quota and never start.
    Example: `clusterName: west` after `nominatedClusterNames: [east, north]`.
    Fix: nominate the cluster first, or choose a nominated one.
    """
    slicing = proposal.configuration.kueue.enabled("ElasticJobsViaWorkloadSlices")
    for before, workload in proposal.changed(WrittenWorkload):
        if before is None or before.cluster is not None or workload.cluster is None:
            continue
        if slicing and REPLACES in workload.annotations:
            continue  # a new slice of an elastic job runs on the cluster of the old slice
        if workload.cluster not in before.nominated:
            yield Finding(
                workload.ref,
                "status.clusterName",
                f"cluster {workload.cluster} is not nominated; nominated clusters: "
                f"{', '.join(before.nominated) or 'none'}",
                fix=f"add {workload.cluster} to nominatedClusterNames first, or name a nominated cluster",
            )
