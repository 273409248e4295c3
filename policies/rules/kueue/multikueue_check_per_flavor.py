from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import CLUSTER_QUEUE
from policies.dialects.kueue_checks import MULTIKUEUE
from policies.dialects.kueue_kinds import ADMISSION_CHECK, admission_check_ref
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import STRICT_ONLY, Cause, Finding, NotEvaluated
from policies.rules.kueue._multikueue import concerned, incomplete, run_by


@rule(
    "multikueue-check-per-flavor",
    source="Kueue: ClusterQueue condition Active, reason MultiKueueAdmissionCheckAppliedPerFlavor",
    kinds=(CLUSTER_QUEUE, ADMISSION_CHECK),
)
def multikueue_check_per_flavor(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """An AdmissionCheck of MultiKueue is limited to some flavors of a ClusterQueue.

    Why it is refused: a workload goes to another cluster as a whole, not by flavor. Kueue makes the queue inactive and
    admits nothing from it, even where onFlavors lists every flavor. Its webhook cannot see which controller runs the
    check.
    Example: `onFlavors: [spot]` for a check with controllerName `kueue.x-k8s.io/multikueue`.
    Fix: remove onFlavors, or move these flavors to a ClusterQueue of their own.
    """
    for queue in concerned(proposal):
        if missing := incomplete(proposal, queue):
            yield missing
        for use in run_by(proposal, queue, MULTIKUEUE):
            if use.on_flavors:
                yield Finding(
                    queue.ref,
                    use.field,
                    f"check {use.name} of MultiKueue cannot be limited to flavor "
                    f"{', '.join(use.on_flavors)}: ClusterQueue {queue.name} admits nothing",
                    fix="remove onFlavors, or move these flavors to a ClusterQueue of their own",
                    subject=use.name,
                    causes=(Cause(admission_check_ref(use.name), "spec.controllerName", f"is run by {MULTIKUEUE}"),),
                    profiles=STRICT_ONLY,
                )
