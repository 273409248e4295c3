from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.volcano import JOB, POD_GROUP, QUEUE, ROOT, Queue, VolcanoJob, WrittenPodGroup, moved, work_in
from policies.judging.rule import Proposal, rule
from policies.model.change import Occasion
from policies.model.findings import BOTH, STRICT_ONLY, Cause, Finding, NotEvaluated
from policies.model.printing import listed

_NAMED = 5  # the most jobs and PodGroups that a message lists; the others are counted


@rule(
    "parent-with-workloads",
    source="Volcano hierarchical queue: webhook queues/validate, allocated pods of the parent",
    kinds=(QUEUE,),
    only=Occasion.PLACEMENT,
)
def parent_with_workloads(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A queue gets its first child while work is queued or runs in it.

    Why it is refused: only leaves take work. If a job is in a queue with children, all sessions of Volcano's scheduler
    fail, for all queues. A PodGroup counts in any phase, even Completed. Files are judged by the work in them, if there
    is any.
    Example: `train` has PodGroup `ns/bert`, and a queue with `parent: train` is created.
    Fix: let the work end or move it to a leaf, then create the child, or give the new queue another parent.
    """
    unknown, holds_work = proposal.unknown(POD_GROUP, JOB), None
    for before, child in proposal.changed(Queue):
        parent = child.parent
        if parent is None or parent == ROOT or not moved(before, child) or proposal.before.has_children(parent):
            continue
        queue = proposal.after.node(parent)
        pods = queue.allocated_pods if isinstance(queue, Queue) else 0
        work = work_in(proposal.after, parent)
        if not pods and not work:
            if unknown and holds_work is None:
                holds_work = proposal.holds(WrittenPodGroup) or proposal.holds(VolcanoJob)
                if not holds_work:
                    yield NotEvaluated(f"whether new parents hold work: no {' or '.join(unknown)} objects are known")
            continue
        named = listed([item.ref for item in work[:_NAMED]], len(work))
        held = " and ".join(filter(None, [named, f"{pods} allocated pods" if pods else ""]))
        yield Finding(
            child.ref,
            "spec.parent",
            f"{parent.name} cannot become a parent while it holds {held}",
            fix=f"let that work end, or move it to a queue without children, before giving {parent.name} a child",
            subject=parent.name,
            causes=tuple(Cause(item.ref, item.queue_field, f"is in queue {parent.name}") for item in work[:_NAMED]),
            profiles=BOTH if pods else STRICT_ONLY,
            follows=((parent, ""),),
        )
