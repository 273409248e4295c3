"""Whether a job or a Pod is counted by a job above it: found by UID, queued itself, and large enough.

Who only says so is handled by its own queue. Source: Kueue v0.19, FindAncestorJobManagedByKueue, which stops at a UID
that differs as well, and asks for no size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policies.amounts.requests import template_requests, total
from policies.dialects.job_shape import JobShape
from policies.dialects.kueue_jobs import QueuedJob
from policies.dialects.kueue_owners import ControllerReference
from policies.dialects.kueue_workload import ELASTIC
from policies.model.forest import Forest
from policies.model.objects import Ref

DEEPEST = 10
"""Owners above one object that are looked at, as in Kueue."""


def ancestor(
    controller: ControllerReference | None, namespace: str, forest: Forest, *, whole: bool = True
) -> QueuedJob | None:
    """The topmost job above that is queued; None where there is none, or only by another UID.

    `whole`: those whose Pods are queued one by one do not count.
    """
    found: QueuedJob | None = None
    seen: set[str] = set()
    while controller is not None and len(seen) < DEEPEST:
        owner = forest.get(Ref(*controller.kind, namespace, controller.name))
        if not isinstance(owner, QueuedJob) or not owner.uid or owner.uid != controller.uid or owner.uid in seen:
            break
        seen.add(owner.uid)
        if owner.queue and (isinstance(owner.framework, JobShape) or not whole):
            found = owner
        controller = owner.controller
    return found


def counted_above(job: QueuedJob, forest: Forest, *, slicing: bool) -> QueuedJob | None:
    """The job above that was admitted for this one as well; None where it is to be admitted by itself.

    `slicing`: elastic jobs may outgrow what they say.
    """
    above = ancestor(job.controller, job.ref.namespace, forest)
    if above is None or above.uid == job.uid:
        return None
    return above if _grows(above, slicing) or _within(asked(job), asked(above)) else None


def pod_counted_above(
    controller: ControllerReference | None, namespace: str, spec: Mapping[str, Any], forest: Forest, *, slicing: bool
) -> QueuedJob | None:
    """The same for a Pod. What the job does not name, a LimitRange may have given the Pod."""
    above = ancestor(controller, namespace, forest)
    if above is None:
        return None
    held, wanted = asked(above), template_requests({"spec": spec}, 1)
    known = {resource: amount for resource, amount in wanted.items() if resource in held}
    return above if _grows(above, slicing) or _within(known, held) else None


def asked(job: QueuedJob) -> dict[str, int]:
    """What all its pods request together."""
    return total(template_requests(pods.template, pods.count) for pods in job.pod_sets)


def _within(wanted: Mapping[str, int], held: Mapping[str, int]) -> bool:
    return all(amount <= held.get(resource, 0) for resource, amount in wanted.items())


def _grows(job: QueuedJob, slicing: bool) -> bool:
    return slicing and job.framework.elastic and job.annotations.get(ELASTIC) == "true"
