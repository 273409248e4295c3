"""Decides whether an ancestor job already counts the quota of a job or Pod.

The ancestor must have the UID of the owner reference, be queued itself, be of a kind that creates such children, and be
large enough. So a forged owner reference has no effect: the job waits in its own queue.
Source: Kueue v0.19, FindAncestorJobManagedByKueue, which also stops at another UID, but does not check kind or size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from policies.amounts.requests import template_requests, total
from policies.dialects.core import POD
from policies.dialects.job_shape import JobShape, PodsAt
from policies.dialects.kueue_jobs import POD_SET, STARTED_FOR, STATEFUL_SET, TOPOLOGY_REQUESTS, QueuedJob
from policies.dialects.kueue_owners import ControllerReference, controller_of
from policies.dialects.kueue_workload import ELASTIC, SLICE_CHAIN
from policies.dialects.pod_reading import gates_in
from policies.dialects.reading import Manifest, mapping, metadata, text, texts
from policies.model.change import User
from policies.model.forest import Forest
from policies.model.objects import GroupKind, Ref

STARTED = (("labels", POD_SET), ("annotations", STARTED_FOR), ("annotations", SLICE_CHAIN))
"""The marks of a Pod that was started on quota: labels and annotations."""
_COMPARED = (*STARTED, *(("annotations", key) for key in TOPOLOGY_REQUESTS))
DEEPEST = 10
"""The most levels of owners that are followed, as in Kueue."""


def ancestor(
    kind: GroupKind,
    controller: ControllerReference | None,
    namespace: str,
    forest: Forest,
    *,
    whole: bool = True,
    queued: bool = True,
) -> QueuedJob | None:
    """The topmost ancestor job of an object of this kind; None if there is none.

    The walk ends at an owner with another UID, of a kind that does not create such children, or that has ended. The
    only Pod among owners is the leader in a group of a LeaderWorkerSet. No Pod passes on the quota of a job.
    `whole`: only jobs that are admitted as a whole count, not those whose Pods are queued.
    `queued`: only jobs that name a queue count.
    """
    found: QueuedJob | None = None
    seen: set[str] = set()
    while controller is not None and len(seen) < DEEPEST:
        owner = _owner(controller, namespace, forest)
        if owner is None or owner.uid in seen or owner.ended or not owner.framework.may_make(kind):
            break
        if owner.ref.group_kind == POD and (whole or owner.controller is None or owner.controller.kind != STATEFUL_SET):
            break
        seen.add(owner.uid)
        if (owner.queue if queued else not owner.left_out) and (isinstance(owner.framework, JobShape) or not whole):
            found = owner
        kind, controller = owner.ref.group_kind, owner.controller
    return found


def _owner(controller: ControllerReference, namespace: str, forest: Forest) -> QueuedJob | None:
    owner = forest.get(Ref(*controller.kind, namespace, controller.name))
    return owner if isinstance(owner, QueuedJob) and owner.uid and owner.uid == controller.uid else None


def counted_above(job: QueuedJob, forest: Forest, *, slicing: bool) -> QueuedJob | None:
    """The ancestor job whose admission covers this job; None if this job has to be admitted itself.

    `slicing`: whether elastic jobs may grow beyond their present size. A job below one may be larger, too, if all its
    pods wait at the gate of slices.
    """
    above = ancestor(job.ref.group_kind, job.controller, job.ref.namespace, forest)
    if above is None or above.uid == job.uid:
        return None
    held = all(_waits_for_slices(pods) for pods in job.pod_sets) and bool(job.pod_sets)
    grows = held and _grows(above, slicing)
    return above if grows or within(total_requests(job), _left_to_children(above)) else None


def pod_counted_above(pod: Manifest, forest: Forest, user: User, *, slicing: bool) -> QueuedJob | None:
    """The job that already counts a new Pod of this user; None if there is none.

    The Pod must look like one that the job's controller creates. Resources that the job does not request at all may be
    added, since a LimitRange can add them.
    """
    meta = metadata(pod)
    namespace, controller = text(meta.get("namespace")) or "default", controller_of(meta)
    above = ancestor(POD, controller, namespace, forest)
    owner = _owner(controller, namespace, forest) if above is not None and controller is not None else None
    if above is None or owner is None or not _as_made_by(owner, pod, trusted=user.may_be_controller_in(namespace)):
        return None
    held, wanted = total_requests(above), template_requests({"spec": mapping(pod.get("spec"))}, 1)
    known = {resource: amount for resource, amount in wanted.items() if resource in held}
    return above if _grows(above, slicing) or within(known, held) else None


def _as_made_by(job: QueuedJob, pod: Manifest, *, trusted: bool) -> bool:
    """Whether the Pod looks like one that the job's controller creates.

    The controller selects it by its labels, and it has the marks and gates of one of the job's templates, and requests
    the same topology. A tenant can create such a Pod, too, so a tenant's Pod has no other marks, and requests no more
    than that template.
    `trusted`: a controller creates the Pod, not a tenant.
    """
    if job.selector is not None and not job.selector.matches(texts(metadata(pod).get("labels"))):
        return False
    marks, gates = _marks(pod, _COMPARED), _gates(pod)
    if not job.pod_sets:
        return trusted or not marks
    wanted = template_requests(pod, 1)
    return any(
        _gates(pods.template) <= gates
        and (made := _marks(pods.template, _COMPARED)) <= marks
        and (trusted or (made == marks and within(wanted, template_requests(pods.counted, 1))))
        for pods in job.pod_sets
    )


def is_marked(pod: Manifest) -> bool:
    """Whether a Pod has a mark of a Pod that was started on quota."""
    return bool(_marks(pod))


def _marks(holder: Mapping[str, Any], keys: Iterable[tuple[str, str]] = STARTED) -> set[tuple[str, str]]:
    """The marks of a Pod or of a template, with their values. They decide for which Workload a Pod counts."""
    meta = mapping(holder.get("metadata"))
    return {(key, notes[key]) for part, key in keys if key in (notes := texts(meta.get(part)))}


def _gates(holder: Mapping[str, Any]) -> set[str]:
    return set(gates_in(mapping(holder.get("spec"))))


def _waits_for_slices(pods: PodsAt) -> bool:
    return ELASTIC in _gates(pods.template)  # the gate has the name of the annotation


def _left_to_children(job: QueuedJob) -> dict[str, int]:
    """The requests of all pods that the job's controller does not create itself."""
    own = job.framework.own_sets if isinstance(job.framework, JobShape) else ()
    return total(template_requests(pods.counted, pods.count) for pods in job.pod_sets if pods.name not in own)


def total_requests(job: QueuedJob) -> dict[str, int]:
    return total(template_requests(pods.counted, pods.count) for pods in job.pod_sets)


def within(wanted: Mapping[str, int], held: Mapping[str, int]) -> bool:
    """Whether each wanted amount is at most the held amount of its resource."""
    return all(amount <= held.get(resource, 0) for resource, amount in wanted.items())


def _grows(job: QueuedJob, slicing: bool) -> bool:
    """Whether the job is elastic, so that it may have more Pods than it has now."""
    return slicing and job.framework.elastic and job.annotations.get(ELASTIC) == "true"
