from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from policies.dialects.volcano import QUEUE, ROOT, Queue, nearest_capability, reshaped
from policies.dialects.volcano_resources import is_counted
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import BOTH, STRICT_ONLY, Action, Cause, Finding, Profile
from policies.model.forest import Forest
from policies.model.quantity import Quantity
from policies.rules.volcano._volcano_resources import holder_of


@rule(
    "capability-exceeds-ancestor",
    source="Volcano's webhook queues/validate: capability of ancestors and descendants",
    kinds=(QUEUE,),
)
def capability_exceeds_ancestor(proposal: Proposal) -> Iterator[Finding]:
    """A queue or a descendant has a higher capability than the nearest ancestor that limits the resource.

    Why it is refused: the higher limit can never be reached, and no message reports that. Each queue is compared alone,
    so capabilities of siblings may add up to more than that of their parent. A capability of 0 counts as absent, and
    root is not compared. If a queue is moved, its descendants are judged, too.
    Example: `eng` has capability cpu 20, and its descendant `ml` gets cpu 21.
    Fix: lower the capability of the descendant, or raise that of the ancestor first.
    """
    for before, queue in proposal.changed(Queue):
        if queue.ref == ROOT:
            continue
        asked = reshaped(before, queue)
        own = dict(queue.limits())
        yield from _against_below(proposal.after, before, queue, asked)
        for resource, highest in sorted(proposal.after.share_of(queue.ref).limit.items()):
            above = nearest_capability(proposal.after, queue, resource)
            if above is None or highest <= above[1].nano:
                continue
            if resource in own:
                yield _finding(queue, resource, queue, own[resource], above, _profiles(asked, resource))
            elif (holder := holder_of(proposal.after, queue.ref, resource, highest)) is not None:
                finding = _finding(queue, resource, holder, holder.capability[resource], above, STRICT_ONLY)
                yield replace(finding, action=Action.WARN) if _lifted(before, queue, resource) else finding


def _profiles(asked: bool, resource: str) -> frozenset[Profile]:
    """The profiles in which it counts. Volcano refuses it only if it compares this queue and counts the resource."""
    return BOTH if asked and is_counted(resource) else STRICT_ONLY


def _lifted(before: Queue | None, queue: Queue, resource: str) -> bool:
    """Whether the queue only loses its own limit. This must not be refused: a descendant that exceeds the limit of an
    ancestor then did so before."""
    return before is not None and before.parent == queue.parent and resource in dict(before.limits())


def _against_below(forest: Forest, before: Queue | None, queue: Queue, asked: bool) -> Iterator[Finding]:
    below, had = forest.below(queue.ref).limit, dict(before.limits()) if before else {}
    for resource, limit in sorted(queue.limits()):
        highest = below.get(resource, 0)
        if highest > limit.nano and (holder := holder_of(forest, queue.ref, resource, highest)) is not None:
            wanted = holder.capability[resource]
            kept = resource in had and had[resource] >= wanted
            cure = f"keep {queue.name} at {wanted.text} or more" if kept else f"raise {queue.name} to {wanted.text}"
            yield Finding(
                queue.ref,
                fields.join("spec.capability", resource),
                f"its capability {resource}={limit.text} is less than that of {holder.name} below it, {wanted.text}",
                fix=f"lower {holder.name} to {limit.text} first, or {cure}",
                subject=resource + " below",
                excess=highest - limit.nano,
                causes=(Cause(holder.ref, fields.join("spec.capability", resource), f"{resource}={wanted.text}"),),
                profiles=_profiles(asked, resource),
            )


def _finding(
    queue: Queue,
    resource: str,
    holder: Queue,
    wanted: Quantity,
    above: tuple[Queue, Quantity],
    profiles: frozenset[Profile],
) -> Finding:
    ancestor, limit = above
    own, amount = holder is queue, f"{resource}={wanted.text}"
    claim = f"its capability {amount} is" if own else f"{holder.name} below it has a capability of {amount},"
    return Finding(
        queue.ref,
        fields.join("spec.capability", resource) if own else "spec.parent",
        f"{claim} more than that of {ancestor.name}, {limit.text}",
        fix=f"lower {holder.name} to {limit.text} or less, or raise {ancestor.name} first",
        subject=resource,
        excess=(wanted - limit).nano,
        causes=tuple(
            Cause(cause.ref, fields.join("spec.capability", resource), f"{resource}={amount.text}")
            for cause, amount in ((holder, wanted), (ancestor, limit))
            if cause is not queue
        ),
        profiles=profiles,
        # the finding about the other queue of the same pair
        follows=((ancestor.ref, fields.join("spec.capability", resource)),),
    )
