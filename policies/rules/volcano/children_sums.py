"""The rules that compare the sum of an amount over the children of a queue with its own amount."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Literal, NamedTuple

from policies.dialects.resource_names import likely_name
from policies.dialects.volcano import QUEUE, ROOT, Queue, reshaped
from policies.dialects.volcano_resources import is_counted
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import (
    BOTH,
    STRICT_ONLY,
    Cause,
    Finding,
    ObjectField,
    Profile,
    enclosing_fields,
    rename,
)
from policies.model.forest import Forest
from policies.model.objects import Ref, SubtreeShare
from policies.model.printing import listed
from policies.model.quantity import Quantity
from policies.model.suggestion import KnownNames

_NAMED = 10  # the most children that a finding lists, the largest first
_NEVER_SCALAR = ("cpu", "memory")
_COMPARED = 50
"""The most resources of a queue that a misspelt name is compared with. More would take too long for each finding."""


@dataclass(frozen=True, slots=True)
class Promise:
    """One of the two amounts that a Volcano queue promises to its children.

    `amount`, `field`: the name and the path of the amount.
    `verb`: the verb for messages.
    """

    amount: Literal["guarantee", "deserved"]
    field: str
    verb: str

    def of(self, queue: Queue) -> Mapping[str, Quantity]:
        return queue.guarantee if self.amount == "guarantee" else queue.deserved

    def total(self, share: SubtreeShare) -> Mapping[str, int]:
        return share.kept if self.amount == "guarantee" else share.nominal


GUARANTEE = Promise("guarantee", "spec.guarantee.resource", "are guaranteed")
DESERVED = Promise("deserved", "spec.deserved", "deserve")


class _Family(NamedTuple):
    """A queue, its changed children, and the resources that it names and no child does."""

    queue: Queue
    changed: Sequence[Queue]
    strays: Sequence[str]


def exceeded(proposal: Proposal, promise: Promise) -> Iterator[Finding]:
    """A finding for each queue and resource for which the sum of the children exceeds the queue's own amount. Only
    changed queues and their parents are compared.

    An absent amount counts as zero. Root is not compared, since Volcano derives its amounts from its children. The
    forest keeps the sums, so siblings are visited only for a message.
    """
    asked = _asked_upstream(proposal)
    changed: dict[Ref | None, list[Queue]] = {}
    for _, queue in proposal.changed(Queue):
        changed.setdefault(queue.parent, []).append(queue)
    for queue in proposal.touched(Queue):
        if queue.ref == ROOT:
            continue
        own, below = promise.of(queue), promise.total(proposal.after.below(queue.ref))
        family = _Family(queue, changed.get(queue.ref, ()), [name for name in own if name not in below])
        for resource, total in sorted(below.items()):
            held = own.get(resource)
            upstream = queue.ref in asked and is_counted(resource)
            # Volcano refuses even a zero if the parent does not name the resource.
            unnamed = held is None and resource not in _NEVER_SCALAR and is_counted(resource)
            if unnamed or total > (held.nano if held else 0):
                yield _finding(proposal, promise, family, resource, total, BOTH if upstream else STRICT_ONLY)


def _asked_upstream(proposal: Proposal) -> set[Ref]:
    """The queues whose sums Volcano's webhook compares: each changed queue, and its present parent."""
    asked: set[Ref] = set()
    for before, queue in proposal.changed(Queue):
        if queue.ref != ROOT and reshaped(before, queue):
            asked.add(queue.ref)
            if queue.parent is not None:
                asked.add(queue.parent)
    return asked


def _finding(
    proposal: Proposal, promise: Promise, family: _Family, resource: str, total: int, profiles: frozenset[Profile]
) -> Finding:
    queue = family.queue
    count, largest = _largest(proposal, promise, queue, resource)
    own, field = promise.of(queue).get(resource), fields.join(promise.field, resource)
    known = likely_name(resource)  # if there is one, the children have the misspelt name
    wrong_below = bool(known) and not own
    slip = None if own or wrong_below else _slip(family, resource)
    held = own or Quantity.ZERO
    wanted = Quantity.of_nano(total, like=(own or largest[0][1]).format)
    named = f"names {slip}, not {resource}" if slip else f"does not name {resource}"
    counts = "which counts as 0" if total else "so Volcano refuses even 0"
    holds = held.text if own else f"none ({promise.field} {named}, {counts})"
    children = listed([f"{child.name} {amount.text}" for child, amount in largest], count)
    fix = _fix(proposal, promise, family, resource, wanted, held)
    if wrong_below:
        misspelt = ", ".join(child.name for child, _ in largest)
        fix = f"did you mean {known} instead of {resource} in {misspelt}? Otherwise {fix}"
    elif slip:
        fix = f"did you mean {resource} instead of {slip}? Otherwise {fix}"
    return Finding(
        queue.ref,
        field,
        f"its children {promise.verb} {resource}={wanted.text} ({children}), but {queue.name} holds {holds}",
        fix=fix,
        subject=resource,
        excess=total - held.nano,
        causes=tuple(Cause(child.ref, field, f"{resource}={amount.text}") for child, amount in largest),
        profiles=profiles,
        follows=(
            *on_cycle(proposal.after, queue),
            *(() if own or slip else enclosing_fields(queue.ref, field)),
            *((child.ref, field) for child, _ in largest if wrong_below),
        ),
        concerns=((queue.ref, fields.join(promise.field, slip)),) if slip else (),
        patch=rename(fields.join(promise.field, slip), resource) if slip and likely_name(slip) == resource else (),
    )


def on_cycle(forest: Forest, queue: Queue) -> tuple[ObjectField, ...]:
    """The parent field of a queue on a cycle, since its sums have no meaning before the cycle is broken."""
    return ((queue.ref, ""),) if forest.on_cycle(queue.ref) else ()


def _slip(family: _Family, resource: str) -> str | None:
    """A resource that the queue names and no child does, and whose name is similar to this resource of the children."""
    return KnownNames(family.strays).nearest(resource) if len(family.strays) <= _COMPARED else None


def _largest(
    proposal: Proposal, promise: Promise, queue: Queue, resource: str
) -> tuple[int, list[tuple[Queue, Quantity]]]:
    """The number of children with such a promise, and those with the largest ones."""
    shares = ((child, promise.total(share).get(resource)) for child, share in proposal.after.shares(queue.ref))
    promised = [(-amount, child) for child, amount in shares if amount is not None]
    children = [proposal.after.node(child) for _, child in nsmallest(_NAMED, promised)]
    return len(promised), [(child, promise.of(child)[resource]) for child in children if isinstance(child, Queue)]


def _fix(proposal: Proposal, promise: Promise, family: _Family, resource: str, wanted: Quantity, held: Quantity) -> str:
    """The fix. If only one child was changed, it has the amount that is left for this child."""
    queue = family.queue
    surplus = wanted - held
    raised = f"raise {queue.name} to {wanted.text}" if wanted > Quantity.ZERO else f"give {queue.name} 0 of it"
    if held == Quantity.ZERO:
        return f"{raised}, or remove {resource} from {promise.field} of its children"
    changed = [child for child in family.changed if resource in promise.of(child)]
    if len(changed) == 1:
        (child,) = changed
        room = promise.of(child)[resource] - surplus
        if room > Quantity.ZERO:
            return f"lower {child.name} to {room.text} or less, which is what is left, or {raised}"
        if room == Quantity.ZERO:
            return f"nothing is left: {raised}, or remove {resource} from {promise.field} of {child.name}"
    if not changed:
        kept = (
            f"keep {queue.name} at {wanted.text} or more"
            if _had(proposal, promise, queue, resource, wanted)
            else raised
        )
        return f"{kept}, or lower its children by {surplus.text} in all first"
    return f"lower the children by {surplus.text} in all, or {raised}"


def _had(proposal: Proposal, promise: Promise, queue: Queue, resource: str, wanted: Quantity) -> bool:
    """Whether the queue had enough before the change."""
    before = proposal.before.node(queue.ref)
    return isinstance(before, Queue) and promise.of(before).get(resource, Quantity.ZERO) >= wanted


@rule(
    "children-deserved-exceed-parent",
    source="Volcano hierarchical queue: webhook queues/validate, sum of deserved",
    kinds=(QUEUE,),
)
def children_deserved_exceed_parent(proposal: Proposal) -> Iterator[Finding]:
    """The children of a queue deserve more than the queue itself.

    Why it is refused: children reclaim up to their deserved amounts, so together they would reclaim more than their
    parent may. A resource that the parent's `deserved` does not name counts as 0 there.
    Example: `eng` deserves cpu 10; its children deserve cpu 6 and cpu 5.
    Fix: lower a child's `deserved`, or raise the parent's first.
    """
    yield from exceeded(proposal, DESERVED)


@rule(
    "children-guarantee-exceeds-parent",
    source="Volcano hierarchical queue: webhook queues/validate, sum of guarantee",
    kinds=(QUEUE,),
)
def children_guarantee_exceeds_parent(proposal: Proposal) -> Iterator[Finding]:
    """The children of a queue are guaranteed more than the queue itself.

    Why it is refused: a guarantee that the parent does not have cannot be kept. A resource that the parent's guarantee
    does not name counts as 0 there, so no child may have a guarantee of it.
    Example: `eng` guarantees cpu 6; its children guarantee cpu 4 and cpu 3.
    Fix: lower a child's guarantee, or raise the parent's first.
    """
    yield from exceeded(proposal, GUARANTEE)
