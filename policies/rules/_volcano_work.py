"""Work that names a Volcano queue: Jobs, PodGroups and Pods, and workloads whose pod templates name one."""

from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import VOLCANO_QUEUE, VOLCANO_SCHEDULER, Pod
from policies.dialects.volcano import JOB, POD_GROUP, queue_ref
from policies.dialects.yunikorn_work import WrittenTemplate
from policies.judging.rule import Proposal
from policies.model import fields
from policies.model.objects import Attached, KubeObject
from policies.rules._pod_templates import MAKERS, templates

WORK = (JOB, POD_GROUP, *MAKERS)


def submitted(proposal: Proposal) -> Iterator[tuple[Attached | None, Attached]]:
    """Each created or updated object that names a queue, as it was before the change and after it.

    Volcano's controller makes the PodGroup of a Pod of a Deployment, so the queue that the Pod names counts.
    """
    yield from proposal.changed(Attached)
    for obj, before, after in templates(proposal):
        if not isinstance(obj, Pod) and (work := _of_template(obj, after)) is not None:
            yield _of_template(obj, before) if before is not None else None, work


def _of_template(obj: KubeObject, template: WrittenTemplate) -> Attached | None:
    queue = template.annotations.get(VOLCANO_QUEUE) if template.scheduler_name == VOLCANO_SCHEDULER else None
    if not queue:
        return None
    field = fields.join(f"{template.at}.metadata.annotations", VOLCANO_QUEUE)
    return Attached(ref=obj.ref, api_version=obj.api_version, queue=queue_ref(queue), queue_field=field)
