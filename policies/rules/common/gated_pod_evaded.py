from __future__ import annotations

from collections.abc import Iterator

from policies.amounts.requests import pod_requests
from policies.configuration.settings import Enforce
from policies.dialects.core import POD, Pod
from policies.dialects.quota_gates import MARK
from policies.dialects.yunikorn_gates import ANNOTATIONS, LABELS, MARKED
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Finding
from policies.model.quantity import Quantity

_FIX = "leave it; delete the pod if it is not wanted"


@rule("gated-pod-evaded", source="Quotree: pods run only with quota", kinds=(POD,))
def gated_pod_evaded(proposal: Proposal) -> Iterator[Finding]:
    """A Pod that waits for the quota of YuniKorn's queues, or runs on it, loses what holds or counts it.

    Why it is refused: the scheduling gate holds the Pod until it is admitted. Its labels and annotations say for which
    application and in which queue it counts, so a change would move it to a quota that nobody reserved. For the same
    reason it may be resized to less, but not to more. Only the users under `kueue.admittingUsers` may do this. The rule
    applies with `yunikorn.enforce: gates`.
    Example: `kubectl patch pod train-0 --type=merge -p '{"spec":{"schedulingGates":null}}'`.
    Fix: leave the Pod as it is until it is admitted, or delete it.
    """
    configuration = proposal.configuration
    if configuration.yunikorn.enforce is not Enforce.GATES:
        return
    if proposal.circumstances.user.name in configuration.kueue.admitting_users:
        return
    for before, pod in proposal.changed(Pod):
        if before is not None and (before.labels.get(MARK) == MARKED or MARK in before.gates):
            yield from _loosened(before, pod)
            yield from _grown(before, pod)


def _loosened(before: Pod, pod: Pod) -> Iterator[Finding]:
    if MARK in before.gates and MARK not in pod.gates:
        message = f"the scheduling gate {MARK} can only be taken off by who admits the pod"
        yield Finding(pod.ref, "spec.schedulingGates", message, fix=_FIX, subject=MARK, profiles=STRICT_ONLY)
    changes = [("labels", key, before.labels.get(key), pod.labels.get(key)) for key in LABELS]
    changes += [("annotations", key, before.annotations.get(key), pod.annotations.get(key)) for key in ANNOTATIONS]
    for part, key, had, has in changes:
        if had != has:
            message = f"the {part[:-1]} {key} decides where the pod counts, and cannot be changed"
            field = fields.join(f"metadata.{part}", key)
            yield Finding(pod.ref, field, message, fix=_FIX, subject=f"{part} {key}", profiles=STRICT_ONLY)


def _grown(before: Pod, pod: Pod) -> Iterator[Finding]:
    asked, asks = pod_requests(before.sized), pod_requests(pod.sized)
    for resource, amount in sorted(asks.items()) if before.sized and pod.sized else ():
        had = asked.get(resource, Quantity.ZERO)
        if amount > had:
            message = f"asks for {resource}={amount}, but was queued for {resource}={had}"
            fix = "create a new pod"
            yield Finding(pod.ref, "spec.containers", message, fix=fix, subject=resource, profiles=STRICT_ONLY)
