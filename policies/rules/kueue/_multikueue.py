"""Shared by the rules about MultiKueue: the ClusterQueues that a change affects, and the controllers of their
checks."""

from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import AdmissionCheckUse, ClusterQueue
from policies.dialects.kueue_checks import AdmissionCheck
from policies.dialects.kueue_kinds import ADMISSION_CHECK, admission_check_ref
from policies.judging.proposal import Proposal
from policies.model.findings import NotEvaluated
from policies.model.objects import Ref


def concerned(proposal: Proposal) -> Iterator[ClusterQueue]:
    """The changed ClusterQueues, and those that name a changed AdmissionCheck; each once."""
    refs: dict[Ref, None] = {queue.ref: None for _, queue in proposal.changed(ClusterQueue)}
    for before, check in proposal.changed(AdmissionCheck):
        if before is None or before.controller != check.controller or check == before:
            refs |= dict.fromkeys(sorted(proposal.after.users(check.ref)))
    for ref in refs:
        queue = proposal.after.node(ref)
        if isinstance(queue, ClusterQueue):
            yield queue


def run_by(proposal: Proposal, queue: ClusterQueue, controller: str) -> list[AdmissionCheckUse]:
    """The checks of the queue that this controller runs. Unknown checks are left out."""
    return [use for use in queue.checks if _controller(proposal, use) == controller]


def incomplete(proposal: Proposal, queue: ClusterQueue) -> NotEvaluated | None:
    """NotEvaluated if the controller of one of the checks is not known, else None."""
    if proposal.unknown(ADMISSION_CHECK) and any(_controller(proposal, use) is None for use in queue.checks):
        return NotEvaluated("not all objects of AdmissionCheck are known")
    return None


def _controller(proposal: Proposal, use: AdmissionCheckUse) -> str | None:
    check = proposal.after.get(admission_check_ref(use.name))
    return check.controller if isinstance(check, AdmissionCheck) else None
