from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from policies.dialects.core import POD, Pod
from policies.dialects.kueue import LOCAL_QUEUE, LocalQueue
from policies.dialects.kueue_jobs import (
    IDENTIFIERS,
    KINDS,
    MAX_SECONDS,
    POD_GROUP,
    PREBUILT,
    PRIORITY_CLASS,
    QUEUE_NAME,
    RETRIABLE,
    QueuedJob,
    identifier,
)
from policies.dialects.kueue_pods import LABEL
from policies.dialects.kueue_workload import ELASTIC
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import Finding
from policies.mutation.kueue_pod_defaults import GATE

_RAY_AND_SPARK = ("ray.io", "sparkoperator.k8s.io")
_SUSPEND = "suspend the job first, or create a new one"


@rule("job-label-changed", source="Kueue: webhooks of every kind of job", kinds=(*KINDS, POD))
def job_label_changed(proposal: Proposal) -> Iterator[Finding]:
    """A label that decided the admission of a running job or queued Pod changes.

    Why it is refused: quota was reserved for the job as it was. In another queue it would run without reserved quota,
    and a job with another priority or more time was never admitted. There are two exceptions. An elastic job may name
    the next slice that a manager of MultiKueue has created for it. The reconciler may set the queue of a running job
    that has none.
    Example: another `kueue.x-k8s.io/queue-name` on a Job with `suspend: false`.
    Fix: suspend the job before you change the label; where the label may never change, and for a Pod, create a new one.
    """
    for before, job in proposal.changed(QueuedJob):
        if before is not None and not _unchecked(proposal, before, job):
            yield from _findings(proposal, _Admitted.of_job(before), _Admitted.of_job(job))
    for old, pod in proposal.changed(Pod):
        if old is not None:
            yield from _of_pod(old, pod, annotated=_annotated(proposal))
        if old is not None and LABEL in old.marks:
            yield from _findings(proposal, _Admitted.of_pod(old), _Admitted.of_pod(pod))


class _Admitted(NamedTuple):
    """A job, or a Pod that is queued itself. `stays`: it cannot leave its queue, because nothing can suspend it."""

    obj: QueuedJob | Pod
    noun: str
    running: bool
    stays: bool
    fix: str

    @classmethod
    def of_job(cls, job: QueuedJob) -> _Admitted:
        return cls(job, "job", job.running, job.framework.suspend is None, _SUSPEND)

    @classmethod
    def of_pod(cls, pod: Pod) -> _Admitted:
        return cls(pod, "Pod", GATE not in pod.gates, False, "create a new Pod")


def _findings(proposal: Proposal, before: _Admitted, after: _Admitted) -> Iterator[Finding]:
    for key, message, fix in _changes(proposal, before, after):
        where = _metadata_field(before.obj, after.obj, key)
        yield Finding(after.obj.ref, fields.join("metadata", where, key), message, fix=fix, subject=key)


def _unchecked(proposal: Proposal, before: QueuedJob, job: QueuedJob) -> bool:
    """Whether a Ray or Spark job is in no queue. Kueue then checks it only if it had one, and unless a gate is off."""
    settings = proposal.configuration.kueue
    if job.ref.group not in _RAY_AND_SPARK or job.labels.get(QUEUE_NAME) or settings.without_queue:
        return False
    return not before.labels.get(QUEUE_NAME) or not settings.enabled("ValidateRayAndSparkJobUpdates")


def _changes(proposal: Proposal, before: _Admitted, after: _Admitted) -> Iterator[tuple[str, str, str]]:
    """Each change that comes too late, as (label, message, fix)."""
    old, new = _values(before.obj, _annotated(proposal)), _values(after.obj, _annotated(proposal))
    changed, running = {key for key in new if old[key] != new[key]}, f"a running {after.noun}"

    def shown(key: str) -> str:
        return f"{old[key] or 'none'} to {new[key] or 'none'}"

    assigned = not old[QUEUE_NAME] and proposal.circumstances.user.name in proposal.configuration.kueue.admitting_users
    if QUEUE_NAME in changed and after.running and not assigned:
        yield QUEUE_NAME, f"the queue of {running} changes from {shown(QUEUE_NAME)}", after.fix
    elif QUEUE_NAME in changed and not new[QUEUE_NAME] and after.stays:
        message = f"a {after.obj.ref.kind} cannot be suspended, so it cannot leave its queue"
        yield QUEUE_NAME, message, "name another queue, or delete and recreate the job"
    elif QUEUE_NAME in changed and not new[QUEUE_NAME] and _has_default(proposal, after.obj):
        message = f"the queue cannot be removed, since a LocalQueue named default takes every {after.noun}"
        yield QUEUE_NAME, message, f"name another queue, or delete the {after.noun}"
    slicing = proposal.configuration.kueue.enabled("ElasticJobsViaWorkloadSlices")
    resized = slicing and _elastic(before.obj) and _elastic(after.obj) and bool(old[PREBUILT] and new[PREBUILT])
    if PREBUILT in changed and after.running and not resized:
        yield PREBUILT, f"the Workload of {running} changes from {shown(PREBUILT)}", after.fix
    if MAX_SECONDS in changed and (before.running or after.running):
        yield MAX_SECONDS, f"the time of {running} changes from {shown(MAX_SECONDS)}", after.fix
    if PRIORITY_CLASS in changed and not new[PRIORITY_CLASS]:
        yield PRIORITY_CLASS, "a priority class cannot be removed, only changed", "name another class"
    elif PRIORITY_CLASS in changed and not old[PRIORITY_CLASS] and after.running:
        yield PRIORITY_CLASS, f"{running} was admitted without a priority class", after.fix
    if slicing and _elastic(before.obj) != _elastic(after.obj):
        yield ELASTIC, "a job can only be made elastic when it is created", "create a new job"


def _of_pod(before: Pod, pod: Pod, *, annotated: bool) -> Iterator[Finding]:
    retriable = fields.join("metadata.annotations", RETRIABLE)
    old, new = (identifier(each.labels, each.annotations, POD_GROUP, annotated=annotated) for each in (before, pod))
    if old != new:
        where = _metadata_field(before, pod, POD_GROUP) if annotated else "labels"
        group = fields.join(f"metadata.{where}", POD_GROUP)
        yield Finding(pod.ref, group, "a pod cannot change its group", fix="create a new pod", subject=POD_GROUP)
    if new and before.annotations.get(RETRIABLE) == "false" and pod.annotations.get(RETRIABLE) != "false":
        message = "a group whose pods are not retried cannot start to retry them"
        yield Finding(pod.ref, retriable, message, fix="create a new group", subject=RETRIABLE)


def _metadata_field(before: QueuedJob | Pod, obj: QueuedJob | Pod, key: str) -> str:
    annotated = key in before.annotations or key in obj.annotations
    return "annotations" if annotated and key in (ELASTIC, PREBUILT, POD_GROUP) else "labels"


def _values(job: QueuedJob | Pod, annotated: bool) -> dict[str, str]:
    """The values with which the job is admitted, by label."""
    prebuilt = identifier(job.labels, job.annotations, PREBUILT, annotated=annotated)
    others = (QUEUE_NAME, MAX_SECONDS, PRIORITY_CLASS)
    return {PREBUILT: prebuilt, **{key: job.labels.get(key, "") for key in others}}


def _annotated(proposal: Proposal) -> bool:
    return proposal.configuration.kueue.enabled(IDENTIFIERS)


def _elastic(job: QueuedJob | Pod) -> bool:
    return job.annotations.get(ELASTIC) == "true"


def _has_default(proposal: Proposal, job: QueuedJob | Pod) -> bool:
    default = proposal.after.get(LOCAL_QUEUE.named("default", job.ref.namespace))
    return isinstance(default, LocalQueue)
