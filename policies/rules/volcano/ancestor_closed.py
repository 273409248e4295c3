from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.volcano import QUEUE, Queue, ancestors, moved
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Cause, Finding
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.rules._volcano_work import WORK, submitted


@rule(
    "ancestor-closed",
    source="Volcano section 6: close cascade",
    kinds=(QUEUE, *WORK),
    default=Action.WARN,
)
def ancestor_closed(proposal: Proposal) -> Iterator[Finding]:
    """A Volcano queue is created or moved below a closed queue, or work is submitted there.

    Why it is reported: Volcano closes every descendant of a closed queue at its next sync. The work then waits, and no
    message reports it. It is a warning, since the ancestor may be opened again.
    Example: `eng` is Closed, and a queue with `parent: eng` is created. It is Open until the next sync.
    Fix: open the ancestor first (`vcctl queue operate --action open`), or choose another place.
    """
    for before, queue in proposal.changed(Queue):
        if moved(before, queue) and queue.is_open and (closed := _closed(proposal.after, queue.ref)) is not None:
            yield _finding(queue.ref, queue.parent_field, closed, "Volcano will close it too")
    for work, ref, _ in submitted(proposal):
        leaf = proposal.after.node(ref)
        if isinstance(leaf, Queue) and leaf.is_open and (closed := _closed(proposal.after, ref)) is not None:
            yield _finding(work.ref, work.queue_field, closed, f"Volcano will close {leaf.name} too")


def _closed(forest: Forest, ref: Ref) -> Queue | None:
    for above in ancestors(forest, ref):
        queue = forest.node(above)
        if isinstance(queue, Queue) and not queue.is_open:
            return queue
    return None


def _finding(ref: Ref, field: str, closed: Queue, outcome: str) -> Finding:
    return Finding(
        ref,
        field,
        f"queue {closed.name} above it is {closed.state}; {outcome}",
        fix=f"open queue {closed.name} first, or choose another place",
        subject=closed.name,
        causes=(Cause(closed.ref, "status.state", f"is {closed.state}"),),
        profiles=STRICT_ONLY,
    )
