from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import WORKLOAD
from policies.dialects.kueue_workload import PodAmount, WrittenWorkload
from policies.judging.rule import Proposal, rule
from policies.model.findings import Finding
from policies.model.quantity import Quantity

_RESERVED = "pods"


@rule(
    "pod-amount-invalid",
    source="Kueue: webhook of Workload",
    kinds=(WORKLOAD,),
    alone=True,
    no_cel="concerns work, which goes on while the webhook is down",
)
def pod_amount_invalid(proposal: Proposal) -> Iterator[Finding]:
    """A container of a Workload requests a negative amount, or the resource `pods`.

    Why it is refused: a negative request would give the queue quota that others then spend. Kueue counts the resource
    `pods` itself, one for each pod, so no container may request it.
    Example: `requests: {cpu: "-1"}`; `limits: {pods: "1"}`.
    Fix: write 0 or more, and leave `pods` out of requests and limits.
    """
    signed = not proposal.configuration.kueue.enabled("WorkloadValidateResourcesAreNonNegative")
    for _, workload in proposal.changed(WrittenWorkload):
        for pod_set in workload.pod_sets:
            for amount in pod_set.amounts:
                if message := _fault(amount, signed):
                    fix = f"remove {_RESERVED}" if amount.resource == _RESERVED else "write 0 or more"
                    yield Finding(workload.ref, amount.field, message, fix=fix)


def _fault(amount: PodAmount, signed: bool) -> str:
    if amount.resource == _RESERVED:
        return f"{_RESERVED} cannot be requested: Kueue counts it itself, one for each pod"
    if amount.quantity < Quantity.ZERO and not signed:
        return f"{amount.resource}={amount.quantity.text} is negative; it would give quota instead of taking it"
    return ""
