from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import WORKLOAD
from policies.dialects.kueue_workload import Amount, Assignment, Workload
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import Finding


@rule(
    "admission-invalid",
    source="Kueue: webhook of Workload",
    kinds=(WORKLOAD,),
    alone=True,
    no_cel="compares assignments with pod sets by name and in many ways, in status, which Kueue writes",
)
def admission_invalid(proposal: Proposal) -> Iterator[Finding]:
    """A Workload holds quota, and what it holds does not fit its pods.

    Why it is refused: the quota in use is the sum of what admissions say. An assignment for a pod set that does not
    exist, or of an amount that its pods cannot share equally, is counted against a queue and never given back rightly.
    Example: QuotaReserved is True and status.admission is missing; cpu=3 for 2 pods.
    Fix: write the admission with the condition, one assignment for each pod set, with pods times the request of one.
    """
    for before, workload in proposal.changed(Workload):
        if not workload.reserved:
            continue
        if workload.admission is None:
            if before is None or not before.reserved or before.admission is not None:
                message = "QuotaReserved is True, and there is no admission that says what is reserved"
                yield Finding(
                    workload.ref, "status.admission", message, fix="write status.admission with the condition"
                )
            continue
        names = [pod_set.name for pod_set in workload.pod_sets]
        for given in workload.admission.assignments:
            if given.name not in names:
                message = f"there is no pod set {given.name}; there are {', '.join(names) or 'none'}"
                yield Finding(
                    workload.ref,
                    f"{given.field}.name",
                    message,
                    fix="name a pod set of the Workload",
                    subject=given.name,
                )
            yield from _shares(workload, given)


def _shares(workload: Workload, given: Assignment) -> Iterator[Finding]:
    pods = given.count or 0
    for amount in given.usage if pods > 0 else ():
        if _units(amount) % pods:
            yield Finding(
                workload.ref,
                amount.field,
                f"{amount.resource}={amount.quantity.text} cannot be shared equally by {pods} pods",
                fix=f"write {pods} times what one pod requests",
                subject=f"{given.name} {amount.resource}",
            )


def _units(amount: Amount) -> int:
    """As Kueue counts: thousandths of a cpu, whole units of all else, rounded up."""
    return amount.quantity.milli() if amount.resource == "cpu" else amount.quantity.units()
