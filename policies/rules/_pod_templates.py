"""The pod templates of Pods and workloads, with what the three projects read in them."""

from __future__ import annotations

from collections.abc import Iterator

from policies.amounts.requests import pod_requests
from policies.dialects import kueue_jobs
from policies.dialects.core import POD, Pod
from policies.dialects.kueue_jobs import QueuedJob
from policies.dialects.yunikorn_work import KINDS, NO_TEMPLATE, OtherWork, WrittenTemplate
from policies.judging.rule import Proposal
from policies.model.findings import STRICT_ONLY, Finding
from policies.model.objects import KubeObject
from policies.model.quantity import Quantity

MAKERS = (POD, *dict.fromkeys((*KINDS, *kueue_jobs.KINDS)))
"""Pods, and the kinds of workloads with pod templates."""


def templates_of(obj: KubeObject | None) -> tuple[WrittenTemplate, ...]:
    """The pod templates of an object; a Pod is its own template. Empty for other kinds."""
    if isinstance(obj, Pod):
        return (WrittenTemplate(labels=obj.labels, annotations=obj.annotations, scheduler_name=obj.scheduler_name),)
    return obj.templates if isinstance(obj, QueuedJob | OtherWork) else ()


def templates(proposal: Proposal) -> Iterator[tuple[KubeObject, WrittenTemplate | None, WrittenTemplate]]:
    """Each pod template of a created or updated Pod or workload, before the change and after it.

    Before the change it is None for a new object, and empty for a new template of an old object.
    """
    for before, obj in proposal.changed(KubeObject):
        earlier = {each.at: each for each in templates_of(before)}
        for after in templates_of(obj):
            yield obj, None if before is None else earlier.get(after.at, NO_TEMPLATE), after


def grown(before: Pod, pod: Pod) -> Iterator[Finding]:
    """Findings for a queued Pod that requests more than before."""
    asked, asks = pod_requests(before.sized), pod_requests(pod.sized)
    for resource, amount in sorted(asks.items()) if before.sized and pod.sized else ():
        had = asked.get(resource, Quantity.ZERO)
        if amount > had:
            message = f"requests {resource}={amount}, but was queued with {resource}={had}"
            fix = "create a new pod"
            yield Finding(pod.ref, "spec.containers", message, fix=fix, subject=resource, profiles=STRICT_ONLY)
