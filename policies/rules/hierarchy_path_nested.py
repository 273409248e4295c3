from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from policies import fields
from policies.dialects.volcano import HIERARCHY, QUEUE, Queue
from policies.forest import Forest
from policies.proposal import Proposal
from policies.rule import BOTH, STRICT_ONLY, Cause, Finding, Profile, rule

_FIELD = fields.join("metadata.annotations", HIERARCHY)


@rule("hierarchy-path-nested", source="Volcano Q6 and gap C7", kinds=(QUEUE,))
def hierarchy_path_nested(proposal: Proposal) -> Iterator[Finding]:
    """Of two Volcano queues, one lies below the other in the tree of hierarchical DRF.

    Why it is refused: in that tree queues are leaves; a queue on the way to another one would be leaf and inner node at
    once. Volcano looks only for queues below the new one; here it is told as well that the new one lies below another.
    Example: queue `eng` has `volcano.sh/hierarchy: root/eng`, and a queue with `root/eng/ml` is created.
    Fix: give the upper queue a leaf of its own, such as `root/eng/rest`.
    """
    changed = [queue for _, queue in proposal.changed(Queue) if queue.hierarchy]
    top = _levels(proposal.after) if changed else _Level()
    for queue in changed:
        level = top
        for name in (queue.hierarchy or "").split("/"):
            for other in level.queues:
                yield _finding(queue, other, "lies below", f"below {other.name}", STRICT_ONLY)
            level = level.inner[name]
        if level.below is not None:
            yield _finding(queue, level.below, "lies above", "above", BOTH)


@dataclass(slots=True)
class _Level:
    """One place in the tree that the paths make. `queues` have this path; `below` is one that lies deeper."""

    queues: list[Queue] = field(default_factory=list)
    below: Queue | None = None
    inner: dict[str, _Level] = field(default_factory=dict)


def _levels(forest: Forest) -> _Level:
    """The tree of all paths. Looks at every queue, as Volcano does, where a changed queue has such a path."""
    top = _Level()
    queues = [node for node in forest.nodes() if isinstance(node, Queue) and node.hierarchy]
    for queue in sorted(queues, key=lambda queue: queue.ref):
        level = top
        for name in (queue.hierarchy or "").split("/"):
            level.below = level.below or queue
            level = level.inner.setdefault(name, _Level())
        level.queues.append(queue)
    return top


def _finding(queue: Queue, other: Queue, where: str, subject: str, profiles: frozenset[Profile]) -> Finding:
    return Finding(
        queue.ref,
        _FIELD,
        f"its path {queue.hierarchy} {where} that of queue {other.name}, {other.hierarchy}",
        fix="give each queue a path that leads to no other queue",
        subject=subject,
        causes=(Cause(other.ref, _FIELD, f"has the path {other.hierarchy}"),),
        profiles=profiles,
    )
