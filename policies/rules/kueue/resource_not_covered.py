from __future__ import annotations

from collections.abc import Collection, Iterator

from policies.dialects.kueue import CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD, ClusterQueue
from policies.dialects.kueue_jobs import KINDS
from policies.dialects.resource_names import likely_name
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Cause, Finding, NotEvaluated
from policies.model.suggestion import KnownNames
from policies.rules.kueue._submissions import Submission, queue_of, submissions

_OF_KUBERNETES = ("cpu", "memory", "ephemeral-storage", "storage", "pods")
_PODS = "pods"
"""The resource that Kueue counts only if the queue covers it."""


@rule(
    "resource-not-covered",
    source="Kueue: Workload condition QuotaReserved, resource unavailable in ClusterQueue",
    kinds=(WORKLOAD, *KINDS),
    default=Action.WARN,
)
def resource_not_covered(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A Workload or a job requests a resource that its ClusterQueue does not cover.

    Why it is reported: Kueue accepts it and lets it wait until the queue covers the resource. Kueue's Configuration may
    transform resources or count devices: the rule is silent if the queue covers another resource of the same domain, or
    one such as `gpus`, that the pods do not request. If your Configuration excludes resources, switch the rule off.
    Example: a Job that requests `nvidia.com/gpu` in a queue with `coveredResources: [cpu, memory]`.
    Fix: remove the request, submit to another queue, or add the resource to a group of the queue.
    """
    for submitted in submissions(proposal):
        queue = queue_of(proposal.after, submitted)
        if queue is None:
            if missing := proposal.incomplete(LOCAL_QUEUE, CLUSTER_QUEUE):
                yield missing
                return
        elif queue.in_force:
            yield from _findings(submitted, queue)


def _findings(submitted: Submission, queue: ClusterQueue) -> Iterator[Finding]:
    covered = {resource for group in queue.in_force for resource in group.covered_resources}
    for pod_set in submitted.pod_sets:
        for resource in sorted(pod_set.requests.keys() - covered - {_PODS}):
            near = KnownNames(covered).nearest(resource)
            if near is None and _may_be_transformed(resource, covered - pod_set.requests.keys()):
                continue
            yield Finding(
                submitted.ref,
                pod_set.field,
                f"pod set {pod_set.name} requests {resource}, which ClusterQueue {queue.name} does not cover; the "
                "Workload waits until the queue covers it",
                fix=_fix(resource, near, queue),
                subject=resource,
                causes=(Cause(queue.ref, "spec.resourceGroups", f"covers {', '.join(sorted(covered))}"),),
                profiles=STRICT_ONLY,
            )


def _fix(resource: str, near: str | None, queue: ClusterQueue) -> str:
    if near and likely_name(near) == resource:  # the quota has the misspelt name, not the request
        return f"write {resource} in place of {near} in ClusterQueue {queue.name}"
    meant = near or likely_name(resource)
    return f"did you mean {meant}?" if meant else f"remove the request, or cover {resource} in {queue.name}"


def _may_be_transformed(resource: str, covered: Collection[str]) -> bool:
    """Whether Kueue may count it as a covered resource.

    That can be one of its domain, such as `nvidia.com/total-gpumem`, or one that counts the devices of a DeviceClass,
    such as `gpus`.
    """
    domain, slash, _ = resource.partition("/")
    return bool(slash) and any(other.startswith(f"{domain}/") or _counts_devices(other) for other in covered)


def _counts_devices(resource: str) -> bool:
    """Whether the name is neither that of a resource of Kubernetes nor that of an extended resource."""
    return "/" not in resource and resource not in _OF_KUBERNETES and not resource.startswith("hugepages-")
