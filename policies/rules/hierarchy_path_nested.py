from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from policies import fields
from policies.dialects.volcano import HIERARCHY, QUEUE, Queue
from policies.forest import Forest
from policies.objects import Ref
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
    if not changed:
        return
    above, below = _relatives(changed, proposal.after)
    for queue in changed:
        for other in sorted(above.get(queue.ref, ()), key=lambda other: other.ref):
            yield _finding(queue, other, "lies below", f"below {other.name}", STRICT_ONLY)
        if queue.ref in below:
            yield _finding(queue, below[queue.ref], "lies above", "above", BOTH)


@dataclass(slots=True)
class _Level:
    """One place in the tree that the changed paths make: `queues` have this path, those of `deeper` lie below it."""

    queues: list[Queue] = field(default_factory=list)
    deeper: list[Queue] = field(default_factory=list)
    inner: dict[str, _Level] = field(default_factory=dict)


def _relatives(changed: Iterable[Queue], forest: Forest) -> tuple[Mapping[Ref, list[Queue]], Mapping[Ref, Queue]]:
    """For each changed queue: those whose paths lie above its own, and the first by name of those that lie below.

    Looks at every queue, as Volcano does: asked only where a changed queue has such a path.
    """
    top = _levels(changed)
    above: dict[Ref, list[Queue]] = {}
    below: dict[Ref, Queue] = {}
    for other in forest.nodes():
        if not isinstance(other, Queue) or not other.hierarchy:
            continue
        level = top
        for name in other.hierarchy.split("/"):
            for queue in level.queues:
                below[queue.ref] = min(below.get(queue.ref, other), other, key=lambda queue: queue.ref)
            if name not in level.inner:
                break
            level = level.inner[name]
        else:
            for queue in level.deeper:
                above.setdefault(queue.ref, []).append(other)
    return above, below


def _levels(queues: Iterable[Queue]) -> _Level:
    top = _Level()
    for queue in queues:
        level = top
        for name in (queue.hierarchy or "").split("/"):
            level.deeper.append(queue)
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
