"""Work that names a Volcano queue: Jobs, PodGroups, Pods, Spark applications, and workloads with pod templates."""

from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import VOLCANO_QUEUE, VOLCANO_SCHEDULER, Pod
from policies.dialects.kueue_jobs import QueuedJob
from policies.dialects.volcano import JOB, POD_GROUP, queue_ref
from policies.dialects.yunikorn_work import WrittenTemplate
from policies.judging.rule import Proposal
from policies.model import fields
from policies.model.objects import Attached, KubeObject, Ref
from policies.rules._pod_templates import MAKERS, templates

WORK = (JOB, POD_GROUP, *MAKERS)


def submitted(proposal: Proposal) -> Iterator[tuple[Attached, Ref, bool]]:
    """Each object that is new in a queue, with the queue, and whether it was created: it may have changed its queue.

    Volcano's controller makes the PodGroup of a Pod of a Deployment, so the queue that the Pod names counts. The Spark
    operator makes that of an application.
    """
    for before, work in _work(proposal):
        if work.queue is not None and (before is None or before.queue != work.queue):
            yield work, work.queue, before is None


def _work(proposal: Proposal) -> Iterator[tuple[Attached | None, Attached]]:
    yield from proposal.changed(Attached)
    for obj, before, after in templates(proposal):
        if not isinstance(obj, Pod) and (work := _of_template(obj, after)) is not None:
            yield _of_template(obj, before) if before is not None else None, work
    for earlier, job in proposal.changed(QueuedJob):
        if (application := _of_spark(job)) is not None:
            yield _of_spark(earlier), application


def _of_spark(job: QueuedJob | None) -> Attached | None:
    if job is None or not job.volcano_queue:
        return None
    field, queue = "spec.batchSchedulerOptions.queue", queue_ref(job.volcano_queue)
    return Attached(ref=job.ref, api_version=job.api_version, queue=queue, queue_field=field)


def _of_template(obj: KubeObject, template: WrittenTemplate) -> Attached | None:
    queue = template.annotations.get(VOLCANO_QUEUE) if template.scheduler_name == VOLCANO_SCHEDULER else None
    if not queue:
        return None
    field = fields.join(template.at, "annotations", VOLCANO_QUEUE)
    return Attached(ref=obj.ref, api_version=obj.api_version, queue=queue_ref(queue), queue_field=field)
