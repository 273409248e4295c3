from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import CLUSTER_QUEUE
from policies.dialects.kueue_checks import MULTIKUEUE, PROVISIONING
from policies.dialects.kueue_kinds import ADMISSION_CHECK, admission_check_ref
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import STRICT_ONLY, Cause, Finding, NotEvaluated
from policies.rules.kueue._multikueue import concerned, incomplete, run_by


@rule(
    "multikueue-with-provisioning",
    source="Kueue: ClusterQueue condition Active, reason MultiKueueWithProvisioningRequest",
    kinds=(CLUSTER_QUEUE, ADMISSION_CHECK),
)
def multikueue_with_provisioning(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A ClusterQueue sends its workloads to other clusters and provisions new nodes in this one.

    Why it is refused: the nodes would be created where the pods never run. Kueue makes the queue inactive and admits
    nothing from it. Its webhook sees one object at a time and accepts each of them.
    Example: one check has controllerName `kueue.x-k8s.io/multikueue`, another `kueue.x-k8s.io/provisioning-request`.
    Fix: remove one of the two. The ClusterQueue of a worker cluster requests nodes there.
    """
    for queue in concerned(proposal):
        if missing := incomplete(proposal, queue):
            yield missing
        away, here = run_by(proposal, queue, MULTIKUEUE), run_by(proposal, queue, PROVISIONING)
        if away and here:
            yield Finding(
                queue.ref,
                here[0].name_field,
                f"check {here[0].name} provisions nodes in this cluster while check {away[0].name} sends the pods to "
                f"another: ClusterQueue {queue.name} admits nothing",
                fix=f"remove {here[0].name} here and request nodes in the ClusterQueue of the worker cluster, or "
                f"remove {away[0].name}",
                excess=len(here),
                causes=tuple(
                    Cause(admission_check_ref(use.name), "spec.controllerName", f"is run by {controller}")
                    for use, controller in ((away[0], MULTIKUEUE), (here[0], PROVISIONING))
                ),
                profiles=STRICT_ONLY,
            )
