from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD, ClusterQueue
from policies.dialects.kueue_jobs import KINDS
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import STRICT_ONLY, Action, Cause, Finding, NotEvaluated
from policies.model.suggestion import close
from policies.rules.kueue._submissions import Submission, queue_of, submissions

_COUNTED = "pods"
"""Kueue counts them only where a queue covers them."""
_NEAR = 0.8


@rule(
    "resource-not-covered",
    source="Kueue: Workload condition QuotaReserved, resource unavailable in ClusterQueue",
    kinds=(WORKLOAD, *KINDS),
    default=Action.WARN,
)
def resource_not_covered(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A Workload or a job requests a resource that its ClusterQueue does not cover.

    Why it is reported: Kueue accepts it and lets it wait until the queue covers the resource. Resources that Kueue's
    Configuration excludes or transforms are not considered: if yours does, switch the rule off.
    Example: a Job that requests `nvidia.com/gpu` in a queue with `coveredResources: [cpu, memory]`.
    Fix: remove the request, submit to another queue, or add the resource to a group of the queue.
    """
    for submitted in submissions(proposal):
        queue = queue_of(proposal.after, submitted)
        if queue is None:
            if unknown := proposal.unknown(LOCAL_QUEUE, CLUSTER_QUEUE):
                yield NotEvaluated(f"not all objects of {', '.join(unknown)} are known")
                return
        elif queue.groups:
            yield from _findings(submitted, queue)


def _findings(submitted: Submission, queue: ClusterQueue) -> Iterator[Finding]:
    covered = {resource for group in queue.groups for resource in group.covered_resources}
    for asking in submitted.asking:
        for resource in sorted(asking.requests.keys() - covered - {_COUNTED}):
            near = close(resource, sorted(covered), _NEAR)
            yield Finding(
                submitted.ref,
                asking.field,
                f"pod set {asking.name} requests {resource}, which ClusterQueue {queue.name} does not cover: it waits "
                "until it does",
                fix=f"did you mean {near}?" if near else f"remove the request, or cover {resource} in {queue.name}",
                subject=resource,
                causes=(Cause(queue.ref, "spec.resourceGroups", f"covers {', '.join(sorted(covered))}"),),
                profiles=STRICT_ONLY,
            )
