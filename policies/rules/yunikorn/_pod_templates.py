"""What YuniKorn sees of a Pod, or of the pods that a workload makes."""

from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import NAMESPACE, POD, Namespace, Pod
from policies.dialects.kueue_jobs import QueuedJob
from policies.dialects.yunikorn_work import KINDS, PodTemplate, Work
from policies.judging.proposal import Proposal
from policies.model.objects import KubeObject, Ref

MAKERS = (POD, *KINDS)
"""Pods, and the kinds of workloads that YuniKorn's admission controller looks into."""


def template(thing: KubeObject | None) -> PodTemplate | None:
    """None for objects of other kinds. The template of a Pod is the Pod."""
    if isinstance(thing, Pod):
        return PodTemplate("", thing.labels, thing.annotations, thing.scheduler_name)
    if isinstance(thing, QueuedJob | Work) and thing.ref.group_kind in KINDS:
        return thing.template
    return None


def templates(proposal: Proposal) -> Iterator[tuple[KubeObject, PodTemplate | None, PodTemplate]]:
    """(object, template before, template after) of each Pod and workload that is created or updated."""
    for before, thing in proposal.changed(KubeObject):
        after = template(thing)
        if after is not None:
            yield thing, template(before), after


def namespace_of(proposal: Proposal, thing: KubeObject) -> Namespace | None:
    found = proposal.after.get(Ref(*NAMESPACE, "", thing.ref.namespace))
    return found if isinstance(found, Namespace) else None
