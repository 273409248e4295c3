from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import WORKLOAD
from policies.dialects.kueue_workload import PodAmount, WrittenAssignment, WrittenWorkload
from policies.judging.rule import Proposal, rule
from policies.model.findings import Finding


@rule(
    "admission-invalid",
    source="Kueue: webhook of Workload",
    kinds=(WORKLOAD,),
    alone=True,
    no_cel="matches assignments to pod sets by name, in the status, which Kueue writes",
)
def admission_invalid(proposal: Proposal) -> Iterator[Finding]:
    """A Workload has reserved quota, and its admission does not match its pods.

    Why it is refused: usage is the sum of all admissions. If an assignment is for a pod set that does not exist, or its
    amount cannot be divided by the number of pods, it counts in the queue, and is never released correctly.
    Example: QuotaReserved is True and status.admission is missing; cpu=3 for 2 pods.
    Fix: write the admission together with the condition: one assignment for each pod set, with the request of one pod
    times the number of pods.
    """
    for before, workload in proposal.changed(WrittenWorkload):
        if not workload.reserved:
            continue
        if workload.admission is None:
            if before is None or not before.reserved or before.admission is not None:
                message = "QuotaReserved is True, but status.admission is missing"
                yield Finding(
                    workload.ref, "status.admission", message, fix="write status.admission together with the condition"
                )
            continue
        names = [pod_set.name for pod_set in workload.pod_sets]
        for assignment in workload.admission.assignments:
            if assignment.name not in names:
                message = f"pod set {assignment.name} does not exist; pod sets: {', '.join(names) or 'none'}"
                yield Finding(
                    workload.ref,
                    f"{assignment.field}.name",
                    message,
                    fix="name a pod set of the Workload",
                    subject=assignment.name,
                )
            yield from _not_divisible(workload, assignment)


def _not_divisible(workload: WrittenWorkload, assignment: WrittenAssignment) -> Iterator[Finding]:
    pods = assignment.count or 0
    for amount in assignment.usage if pods > 0 else ():
        if _units(amount) % pods:
            yield Finding(
                workload.ref,
                amount.field,
                f"{amount.resource}={amount.quantity.text} cannot be divided equally among {pods} pods",
                fix=f"write {pods} times what one pod requests",
                subject=f"{assignment.name} {amount.resource}",
            )


def _units(amount: PodAmount) -> int:
    """The amount in Kueue's units: milli-CPU for cpu, whole units for all others, rounded up."""
    return amount.quantity.milli() if amount.resource == "cpu" else amount.quantity.units()
