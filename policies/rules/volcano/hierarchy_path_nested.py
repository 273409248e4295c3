from __future__ import annotations

from collections.abc import Iterable, Iterator

from policies.dialects.volcano import HIERARCHY, QUEUE, Queue, path_end, path_way, shortened
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model import fields
from policies.model.findings import BOTH, STRICT_ONLY, Cause, Finding, Profile
from policies.model.forest import Forest
from policies.model.objects import Ref

_FIELD = fields.join("metadata.annotations", HIERARCHY)


@rule("hierarchy-path-nested", source="Volcano's webhook queues/validate: hierarchy annotations", kinds=(QUEUE,))
def hierarchy_path_nested(proposal: Proposal) -> Iterator[Finding]:
    """A Volcano queue is a descendant of another one in the tree of hierarchical DRF.

    Why it is refused: in this tree all queues are leaves. A queue on the path to another one would be a leaf and an
    inner node at once. Volcano only checks for queues below the new one; this rule also checks for queues above it.
    Example: queue `eng` has `volcano.sh/hierarchy: root/eng`, and a queue with `root/eng/ml` is created.
    Fix: give the ancestor a leaf of its own, such as `root/eng/rest`.
    """
    for _, queue in proposal.changed(Queue):
        if not queue.hierarchy:
            continue
        for other in _above(queue, proposal.after):
            yield _finding(queue, other, "is below", f"below {other.name}", STRICT_ONLY)
        lower = _below(queue, proposal.after)
        if lower is not None:
            yield _finding(queue, lower, "is above", "above", BOTH)


def _above(queue: Queue, forest: Forest) -> list[Queue]:
    """The queues that its path leads through, by name. An index finds them, so other queues are not visited."""
    path = queue.hierarchy or ""
    ends = (ref for place in shortened(path) for ref in forest.users(path_end(place)))
    return [other for other in _queues(ends, forest) if path.startswith(f"{other.hierarchy}/")]


def _below(queue: Queue, forest: Forest) -> Queue | None:
    """The first queue by name whose path leads through the path of this one, or None."""
    path = queue.hierarchy or ""
    ways = forest.users(path_way(shortened(path)[-1]))
    return next((other for other in _queues(ways, forest) if (other.hierarchy or "").startswith(f"{path}/")), None)


def _queues(refs: Iterable[Ref], forest: Forest) -> Iterator[Queue]:
    for ref in sorted(refs):
        other = forest.node(ref)
        if isinstance(other, Queue) and other.hierarchy:
            yield other


def _finding(queue: Queue, other: Queue, where: str, subject: str, profiles: frozenset[Profile]) -> Finding:
    return Finding(
        queue.ref,
        _FIELD,
        f"its path {queue.hierarchy} {where} that of queue {other.name}, {other.hierarchy}",
        fix="give each queue a path that no other queue continues",
        subject=subject,
        causes=(Cause(other.ref, _FIELD, f"has the path {other.hierarchy}"),),
        profiles=profiles,
    )
