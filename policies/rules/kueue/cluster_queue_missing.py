from __future__ import annotations

from collections.abc import Iterator, Sequence

from policies.dialects.kueue import CLUSTER_QUEUE, LOCAL_QUEUE, LocalQueue
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Finding, NotEvaluated, kind_field, write_only
from policies.model.suggestion import did_you_mean


@rule(
    "cluster-queue-missing",
    source="Kueue: LocalQueue condition Active, reason ClusterQueueDoesNotExist",
    kinds=(LOCAL_QUEUE,),
    default=Action.WARN,
)
def cluster_queue_missing(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A LocalQueue points to a ClusterQueue that does not exist.

    Why it is reported: Kueue accepts the LocalQueue and admits nothing from it until the ClusterQueue exists, so a typo
    shows only as work that waits forever. It is a warning, since objects may be applied in any order.
    Example: `spec.clusterQueue: reserch` where the ClusterQueue is called `research`.
    Fix: create the ClusterQueue. If the name is wrong, delete the LocalQueue and create it with the right one:
    `spec.clusterQueue` cannot be changed.
    """
    for before, local in proposal.changed(LocalQueue):
        if local.queue is None or proposal.after.node(local.queue) is not None:
            continue
        if missing := proposal.incomplete(CLUSTER_QUEUE):
            yield missing
            return
        is_new, near = before is None, proposal.near(local.queue)
        yield Finding(
            local.ref,
            local.queue_field,
            f"ClusterQueue {local.queue.name} does not exist; nothing is admitted from here until it does",
            fix=_fix(local, is_new, near),
            patch=write_only(local.queue_field, local.queue.name, near) if is_new else (),
            subject=local.queue.name,
            profiles=STRICT_ONLY,
            follows=((local.queue, ""), kind_field(local.queue)),
        )


def _fix(local: LocalQueue, is_new: bool, near: Sequence[str]) -> str:
    name = local.queue.name if local.queue else ""
    anew = f"delete the LocalQueue and create it with the right name: {local.queue_field} cannot be changed"
    if near:
        return did_you_mean(near) if is_new else f"{did_you_mean(near)} Then {anew}"
    return f"create ClusterQueue {name}, or {anew}"
