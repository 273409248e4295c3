from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import CLUSTER_QUEUE, ClusterQueue
from policies.dialects.kueue_kinds import ADMISSION_CHECK, admission_check_ref
from policies.nearest import nearest
from policies.proposal import Proposal
from policies.rule import STRICT_ONLY, Action, Finding, NotEvaluated, rule


@rule(
    "admission-check-missing",
    source="Kueue: ClusterQueue condition Active, reason AdmissionCheckNotFound",
    kinds=(CLUSTER_QUEUE,),
    default=Action.WARN,
)
def admission_check_missing(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A ClusterQueue asks for an AdmissionCheck that does not exist.

    Why it is reported: Kueue then admits nothing from the queue until somebody creates the check. It is a warning,
    since things may be applied in any order.
    Example: check `bugdet` in `admissionChecksStrategy` where the AdmissionCheck is called `budget`.
    Fix: create the AdmissionCheck, or correct the name.
    """
    unknown = proposal.unknown(ADMISSION_CHECK)
    for _, queue in proposal.changed(ClusterQueue):
        for check in queue.checks:
            if not check.name or proposal.after.get(admission_check_ref(check.name)) is not None:
                continue
            if unknown:
                yield NotEvaluated("not all objects of AdmissionCheck are known")
                return
            near = nearest(check.name, lambda name: proposal.after.get(admission_check_ref(name)) is not None)
            yield Finding(
                queue.ref,
                check.name_field,
                f"AdmissionCheck {check.name} does not exist; nothing is admitted by {queue.name} until it does",
                fix=f"write {near} if that was meant" if near else f"create AdmissionCheck {check.name}",
                subject=check.name,
                profiles=STRICT_ONLY,
            )
