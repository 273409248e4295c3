from __future__ import annotations

from collections.abc import Iterator

from policies.amounts.requests import pod_requests
from policies.dialects.volcano import JOB, POD_GROUP, QUEUE, Queue, VolcanoJob, WrittenPodGroup, ancestors
from policies.dialects.volcano_job import JobSpec
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Cause, Finding, NotEvaluated
from policies.model.objects import Attached
from policies.model.quantity import Quantities, Quantity


@rule(
    "request-exceeds-capability",
    source="Volcano: capacity and proportion, JobEnqueueable",
    kinds=(JOB, POD_GROUP),
    default=Action.WARN,
)
def request_exceeds_capability(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A Volcano Job or PodGroup needs more at once than its queue may ever have.

    Why it is reported: Volcano accepts the work, and it stays Pending. The `minResources` of the PodGroup, or the least
    amount that `minAvailable` pods of the Job request, is compared with the capability of the queue and of each
    ancestor. A resource without a capability is not compared.
    Example: `minAvailable: 4` with pods of 8 cpu in a queue with `capability: {cpu: 16}`.
    Fix: request less at once, name another queue, or raise the capability.
    """
    for work, field, minimum in _changed_needs(proposal):
        queue = proposal.after.node(work.queue) if work.queue else None
        if queue is None and (missing := proposal.incomplete(QUEUE)):
            yield missing
            return
        if isinstance(queue, Queue):
            yield from _findings(proposal, work, field, minimum, queue)


def _changed_needs(proposal: Proposal) -> Iterator[tuple[Attached, str, Quantities]]:
    """The work with a new need or queue, each with the field of the need and the amounts."""
    for old, group in proposal.changed(WrittenPodGroup):
        if old is None or (old.minimum, old.queue) != (group.minimum, group.queue):
            yield group, "spec.minResources", group.minimum
    for before, job in proposal.changed(VolcanoJob):
        if before is None or (before.spec, before.queue) != (job.spec, job.queue):
            yield job, "spec.minAvailable", _least(job.spec)


def _least(spec: JobSpec) -> Quantities:
    """The least amounts that `minAvailable` pods of the Job can request; without it, the pods that its tasks need."""
    every = sum(task.replicas for task in spec.tasks)
    needed = sum(task.needed for task in spec.tasks)
    pods = min(every, needed if spec.min_available is None else spec.min_available)
    sizes = [(pod_requests(task.pod), task.replicas) for task in spec.tasks]
    return {
        resource: _smallest([(size.get(resource, Quantity.ZERO), count) for size, count in sizes], pods)
        for resource in sorted({resource for size, _ in sizes for resource in size})
    }


def _smallest(sizes: list[tuple[Quantity, int]], pods: int) -> Quantity:
    """The sum over the smallest pods, as many as `pods`."""
    total = Quantity.ZERO
    for size, count in sorted(sizes, key=lambda each: each[0].nano):
        taken = min(max(0, count), pods)
        total += Quantity(size.nano * taken, size.format)
        pods -= taken
    return total


def _findings(proposal: Proposal, work: Attached, field: str, minimum: Quantities, queue: Queue) -> Iterator[Finding]:
    path = (queue.ref, *ancestors(proposal.after, queue.ref))
    queues = [node for ref in path if isinstance(node := proposal.after.node(ref), Queue)]
    for resource, need in minimum.items():
        limits = [(limit, node) for node in queues if (limit := node.enforced().get(resource)) is not None]
        least = min(limits, key=lambda each: each[0].nano, default=None)
        if least is not None and need.nano > least[0].nano:
            limit, node = least
            yield Finding(
                work.ref,
                field,
                f"it needs {resource}={need.text} at once, but queue {node.name} may have {limit.text} at most: it "
                "would wait forever",
                fix=f"need {resource}={limit.text} or less, name another queue, or raise the capability of {node.name}",
                subject=resource,
                excess=need.nano - limit.nano,
                causes=(Cause(node.ref, f"spec.capability.{resource}", f"is {limit.text}"),),
                profiles=STRICT_ONLY,
            )
