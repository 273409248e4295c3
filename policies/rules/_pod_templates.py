"""The pod templates of Pods and workloads as YuniKorn reads them."""

from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import POD, Pod
from policies.dialects.kueue_jobs import QueuedJob
from policies.dialects.yunikorn_work import KINDS, OtherWork, WrittenTemplate
from policies.judging.rule import Proposal
from policies.model.objects import KubeObject

MAKERS = (POD, *KINDS)
"""Pods, and the kinds of workloads whose pod templates YuniKorn's admission controller reads."""


def template(obj: KubeObject | None) -> WrittenTemplate | None:
    """The pod template of an object; a Pod is its own template. None for other kinds."""
    if isinstance(obj, Pod):
        return WrittenTemplate("", obj.labels, obj.annotations, obj.scheduler_name)
    if isinstance(obj, QueuedJob | OtherWork) and obj.ref.group_kind in KINDS:
        return obj.template
    return None


def templates(proposal: Proposal) -> Iterator[tuple[KubeObject, WrittenTemplate | None, WrittenTemplate]]:
    """Each created or updated Pod and workload, with its template before and after the change."""
    for before, obj in proposal.changed(KubeObject):
        after = template(obj)
        if after is not None:
            yield obj, template(before), after
