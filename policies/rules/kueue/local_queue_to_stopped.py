from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import CLUSTER_QUEUE, LOCAL_QUEUE, ClusterQueue, LocalQueue
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Cause, Finding, NotEvaluated


@rule(
    "local-queue-to-stopped",
    source="Kueue: LocalQueue condition Active, reason ClusterQueueIsInactive",
    kinds=(LOCAL_QUEUE,),
    default=Action.WARN,
    of_change=True,
)
def local_queue_to_stopped(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A new LocalQueue points to a stopped ClusterQueue.

    Why it is reported: a stopped ClusterQueue admits nothing, so all work of the namespace waits until somebody starts
    it again, and the LocalQueue shows only that it is inactive.
    Example: `spec.clusterQueue: research` where ClusterQueue `research` has `stopPolicy: Hold`.
    Fix: set the stopPolicy of the ClusterQueue to None, or name another one.
    """
    for before, local in proposal.changed(LocalQueue):
        queue = proposal.after.node(local.queue) if local.queue else None
        if queue is None and (missing := proposal.incomplete(CLUSTER_QUEUE)):
            yield missing
            return
        if before is None and isinstance(queue, ClusterQueue) and queue.is_stopped:
            yield Finding(
                local.ref,
                local.queue_field,
                f"ClusterQueue {queue.name} is stopped by stopPolicy {queue.stop_policy}; nothing is admitted from "
                "here until that is None",
                fix=f"set spec.stopPolicy of {queue.name} to None, or name another ClusterQueue",
                subject=queue.name,
                causes=(Cause(queue.ref, "spec.stopPolicy", f"is {queue.stop_policy}"),),
                profiles=STRICT_ONLY,
            )
