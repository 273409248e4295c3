from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.volcano import QUEUE, Queue, moved, queue_ref
from policies.judging.rule import Proposal, rule
from policies.model.change import Occasion
from policies.model.findings import STRICT_ONLY, Action, Finding

_DEFAULT = queue_ref("default")


@rule(
    "default-queue-as-parent",
    source="Volcano's webhook jobs/validate: only leaves take work",
    kinds=(QUEUE,),
    default=Action.WARN,
    only=Occasion.PLACEMENT,
)
def default_queue_as_parent(proposal: Proposal) -> Iterator[Finding]:
    """The queue `default` gets its first child, and so takes no more work.

    Why it is reported: work that names no queue goes to `default`, and only leaves take work. So from then on, work
    that names no queue is refused.
    Example: a queue with `parent: default` is created.
    Fix: give the queue another parent, or make sure that all work names a queue.
    """
    if proposal.before.has_children(_DEFAULT):
        return
    for before, queue in proposal.changed(Queue):
        if queue.parent == _DEFAULT and moved(before, queue):
            yield Finding(
                queue.ref,
                queue.parent_field,
                "default becomes a parent and takes no more work; work that names no queue will be refused",
                fix="choose another parent, or make sure that all work names a queue",
                subject="default",
                profiles=STRICT_ONLY,
            )
