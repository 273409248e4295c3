from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue_checks import MultiKueueConfigObject
from policies.dialects.kueue_kinds import MULTIKUEUE_CLUSTER, MULTIKUEUE_CONFIG, multikueue_cluster_ref
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Action, Finding, NotEvaluated
from policies.model.suggestion import write_or_create


@rule(
    "worker-cluster-missing",
    source="Kueue: AdmissionCheck condition Active, reasons NoUsableClusters and SomeActiveClusters",
    kinds=(MULTIKUEUE_CONFIG,),
    default=Action.WARN,
)
def worker_cluster_missing(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A MultiKueueConfig names a MultiKueueCluster that does not exist.

    Why it is reported: no work goes to this cluster. If all clusters are missing, the check is inactive. It is a
    warning, since objects may be applied in any order.
    Example: `clusters: [europe, amreica]` where the MultiKueueCluster is called `america`.
    Fix: create the MultiKueueCluster, or correct the name.
    """
    for _, config in proposal.changed(MultiKueueConfigObject):
        for index, name in enumerate(config.clusters):
            ref = multikueue_cluster_ref(name)
            if not name or proposal.after.get(ref) is not None:
                continue
            if proposal.unknown(MULTIKUEUE_CLUSTER):
                yield NotEvaluated("not all objects of MultiKueueCluster are known")
                return
            yield Finding(
                config.ref,
                fields.join("spec.clusters", index),
                f"MultiKueueCluster {name} does not exist; no work of {config.ref.name} goes there until it does",
                fix=write_or_create(MULTIKUEUE_CLUSTER.kind, name, proposal.near(ref)),
                subject=name,
                profiles=STRICT_ONLY,
            )
