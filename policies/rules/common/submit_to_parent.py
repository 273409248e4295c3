from __future__ import annotations

from collections.abc import Iterator
from heapq import nsmallest

from policies.dialects.kueue import CLUSTER_QUEUE, COHORT, LOCAL_QUEUE, ClusterQueue, LocalQueue
from policies.dialects.volcano import QUEUE, ROOT, Queue, VolcanoJob
from policies.judging.rule import Proposal, rule
from policies.model.findings import BOTH, STRICT_ONLY, Finding, NotEvaluated
from policies.model.forest import Forest
from policies.model.objects import Attached, Node, Ref
from policies.rules._volcano_work import WORK, submitted

_NAMED = 8  # the most leaves that a message names


@rule(
    "submit-to-parent",
    source="Volcano hierarchical queue, story 2; webhook jobs/validate; KEP-79: a Cohort takes no workloads",
    kinds=(*WORK, LOCAL_QUEUE),
)
def submit_to_parent(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """Work is submitted to an inner node of the tree.

    Why it is refused: only leaves take work. One PodGroup in `root`, or in a Volcano queue with children, makes each
    session of Volcano's scheduler fail, for all queues. Nothing is admitted from a LocalQueue that names a Cohort
    instead of a ClusterQueue. The queue in the pod template of a Deployment or another workload of Volcano counts, too.
    Example: a Job with `queue: eng` where `ml` and `web` have `parent: eng`.
    Fix: name one of the leaves that the message lists.
    """
    for work, queue, created in submitted(proposal):
        if isinstance(work, LocalQueue):
            yield from _to_cohort(proposal, work, queue)
        elif queue.group_kind == QUEUE:
            yield from _to_queue(proposal, work, queue, created)


def _to_queue(proposal: Proposal, work: Attached, queue: Ref, created: bool) -> Iterator[Finding | NotEvaluated]:
    if queue == ROOT or proposal.after.has_children(queue):
        what = "is the root" if queue == ROOT else "has children"
        yield Finding(
            work.ref,
            work.queue_field,
            f"queue {queue.name} {what}; only leaves take work",
            fix=_offer(proposal.after, queue),
            subject=queue.name,
            profiles=BOTH if isinstance(work, VolcanoJob) and created else STRICT_ONLY,
            follows=((queue, ""),),
        )
    elif missing := proposal.incomplete(QUEUE):
        yield missing


def _to_cohort(proposal: Proposal, work: LocalQueue, queue: Ref) -> Iterator[Finding | NotEvaluated]:
    forest, cohort = proposal.after, COHORT.named(queue.name)
    if forest.node(queue) is not None:
        return
    if missing := proposal.incomplete(CLUSTER_QUEUE, COHORT):
        yield missing
    elif forest.node(cohort) is not None or forest.has_children(cohort):
        yield Finding(
            work.ref,
            work.queue_field,
            f"{cohort.name} is a Cohort, not a ClusterQueue; only ClusterQueues take work",
            fix=_offer(forest, cohort),
            subject=cohort.name,
            profiles=STRICT_ONLY,
            concerns=((queue, ""),),
        )


def _offer(forest: Forest, parent: Ref) -> str:
    children = (child for child, share in forest.shares(parent) if share.height == 1)
    leaves = [child.name for child in children if _takes_work(forest.node(child))]
    if not leaves:
        return f"name a leaf below {parent.name}"
    more = f" or another of its {len(leaves)} leaves" if len(leaves) > _NAMED else ""
    return f"name one of {', '.join(nsmallest(_NAMED, leaves))}{more}"


def _takes_work(leaf: Node | None) -> bool:
    return (isinstance(leaf, Queue) and leaf.is_open) or (isinstance(leaf, ClusterQueue) and not leaf.is_stopped)
