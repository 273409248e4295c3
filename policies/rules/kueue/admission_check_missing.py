from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import CLUSTER_QUEUE
from policies.dialects.kueue_kinds import ADMISSION_CHECK, admission_check_ref
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import Action, Finding, NotEvaluated
from policies.rules.kueue._named_by_queue import missing


@rule(
    "admission-check-missing",
    source="Kueue: ClusterQueue condition Active, reason AdmissionCheckNotFound",
    kinds=(CLUSTER_QUEUE,),
    default=Action.WARN,
)
def admission_check_missing(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A ClusterQueue uses an AdmissionCheck that does not exist.

    Why it is reported: Kueue then admits nothing from the queue until somebody creates the check. It is a warning,
    since objects may be applied in any order.
    Example: check `bugdet` in `admissionChecksStrategy` where the AdmissionCheck is called `budget`.
    Fix: create the AdmissionCheck, or correct the name.
    """
    yield from missing(
        proposal,
        ADMISSION_CHECK,
        admission_check_ref,
        lambda queue: ((check.name, check.name_field) for check in queue.checks),
    )
