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
    "multikueue-checks-several",
    source="Kueue: ClusterQueue condition Active, reason MultipleMultiKueueAdmissionChecks",
    kinds=(CLUSTER_QUEUE, ADMISSION_CHECK),
)
def multikueue_checks_several(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A ClusterQueue uses more than one AdmissionCheck of MultiKueue.

    Why it is refused: each of these checks sends the workload to a worker cluster of its own choice, so Kueue makes the
    whole queue inactive and admits nothing from it. Its webhook sees one object at a time and accepts each of them.
    Example: checks `europe` and `america`, both with controllerName `kueue.x-k8s.io/multikueue`.
    Fix: keep one check, and name the clusters of both in its MultiKueueConfig; or create a ClusterQueue for each.
    """
    for queue in concerned(proposal):
        if missing := incomplete(proposal, queue):
            yield missing
        uses = run_by(proposal, queue, MULTIKUEUE)
        if len(uses) > 1:
            names = ", ".join(use.name for use in uses)
            yield Finding(
                queue.ref,
                uses[1].name_field,
                f"ClusterQueue {queue.name} has {len(uses)} checks of MultiKueue, but may have only 1: {names}; it "
                "admits nothing",
                fix=f"keep only {uses[0].name} and name the clusters of the others in its MultiKueueConfig, or "
                "create a "
                "ClusterQueue for each check",
                excess=len(uses) - 1,
                causes=tuple(
                    Cause(admission_check_ref(use.name), "spec.controllerName", f"is run by {MULTIKUEUE}")
                    for use in uses
                ),
                profiles=STRICT_ONLY,
            )
