from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import POD
from policies.dialects.kueue import COHORT, LOCAL_QUEUE, LocalQueue
from policies.dialects.volcano import JOB, POD_GROUP, QUEUE, ROOT, Job
from policies.forest import Forest
from policies.objects import Attached, Ref
from policies.proposal import Proposal
from policies.rule import BOTH, STRICT_ONLY, Finding, rule

_NAMED = 8  # leaves that a message offers


@rule(
    "submit-to-parent",
    source="Volcano hierarchical queue, story 2; J1; KEP-79: a Cohort takes no workloads",
    kinds=(JOB, POD_GROUP, POD, LOCAL_QUEUE),
)
def submit_to_parent(proposal: Proposal) -> Iterator[Finding]:
    """Work is submitted to an inner node of the tree.

    Why it is refused: only leaves take work. One PodGroup in a Volcano queue that has children, or in `root`, makes the
    scheduler refuse every session for all queues. A LocalQueue that names a Cohort instead of a ClusterQueue never
    admits anything.
    Example: a Job with `queue: eng` where `ml` and `web` have `parent: eng`.
    Fix: name one of the leaves that the message lists.
    """
    for before, work in proposal.changed(Attached):
        if work.queue is None or (before is not None and before.queue == work.queue):
            continue
        if isinstance(work, LocalQueue):
            yield from _to_cohort(proposal.after, work)
        elif work.queue.group_kind == QUEUE and (work.queue == ROOT or proposal.after.has_children(work.queue)):
            what = "is the root" if work.queue == ROOT else "has children"
            yield Finding(
                work.ref,
                work.queue_field,
                f"queue {work.queue.name} {what}; only leaves take work",
                fix=_offer(proposal.after, work.queue),
                subject=work.queue.name,
                profiles=BOTH if isinstance(work, Job) and before is None else STRICT_ONLY,
            )


def _to_cohort(forest: Forest, work: LocalQueue) -> Iterator[Finding]:
    assert work.queue is not None
    cohort = Ref(COHORT.group, COHORT.kind, "", work.queue.name)
    if forest.node(work.queue) is None and (forest.node(cohort) is not None or forest.has_children(cohort)):
        yield Finding(
            work.ref,
            work.queue_field,
            f"{cohort.name} is a Cohort, not a ClusterQueue; only ClusterQueues take work",
            fix=_offer(forest, cohort),
            subject=cohort.name,
            profiles=STRICT_ONLY,
        )


def _offer(forest: Forest, parent: Ref) -> str:
    leaves = [child.ref.name for child in forest.children(parent) if not forest.has_children(child.ref)]
    if not leaves:
        return f"name a leaf below {parent.name}"
    more = f" or another of its {len(leaves)} leaves" if len(leaves) > _NAMED else ""
    return f"name one of {', '.join(leaves[:_NAMED])}{more}"
