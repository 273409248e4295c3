from __future__ import annotations

from collections.abc import Iterator
from heapq import nsmallest

from policies.dialects.kueue import COHORT, Cohort
from policies.dialects.volcano import QUEUE, Queue
from policies.judging.rule import Proposal, rule
from policies.model.change import Occasion
from policies.model.findings import BOTH, COMPAT_ONLY, STRICT_ONLY, Action, Cause, Finding, Profile, kind_field
from policies.model.objects import Node
from policies.model.printing import listed

_NAMED = 10  # the most children that a message lists; the others are counted


@rule(
    "delete-with-children",
    source="Volcano's webhook queues/validate: deletion; Kueue issue 3644",
    kinds=(COHORT, QUEUE),
    only=Occasion.DELETION,
)
def delete_with_children(proposal: Proposal) -> Iterator[Finding]:
    """A node is deleted while other nodes still have it as their parent.

    Why it is refused: a deleted Cohort remains as an implicit Cohort without quota, limits or a parent, so its children
    lose all three at once. A Volcano queue without its parent stops the scheduler.
    Example: deleting Cohort `eng` while ClusterQueue `ml` has `cohortName: eng`.
    Fix: move or delete the children first, or in the same change set. A node on a cycle may be deleted, which repairs
    the tree. A Volcano queue with the annotation `quotree.dev/delete-children: "true"` and the finalizer of the
    reconciler may be deleted: its descendants are deleted first. Volcano's own webhook still refuses that;
    `quotree queue delete --cascade` works with both.
    """
    # Volcano's webhook refuses to delete even a queue on a cycle
    repairing = proposal.configuration.profile is Profile.STRICT
    for node in proposal.deleted(Node):
        if not proposal.after.has_children(node.ref):
            continue
        count = proposal.after.count_children(node.ref)
        first = nsmallest(_NAMED, (ref for ref, _ in proposal.after.shares(node.ref)))
        children = [child for child in map(proposal.after.node, first) if child is not None]
        loss = ", which would lose its quota, limits and parent" if isinstance(node, Cohort) else ""
        yield Finding(
            node.ref,
            "metadata.name",
            f"cannot be deleted: it is the parent of {listed(first, count)}{loss}",
            fix="move the children to another parent or delete them first",
            excess=count,
            causes=tuple(Cause(child.ref, child.parent_field, f"has parent {node.ref.name}") for child in children),
            profiles=_profiles(node),
            action=Action.WARN if repairing and proposal.before.on_cycle(node.ref) else None,
            follows=(kind_field(node.ref),),
        )


def _profiles(node: Node) -> frozenset[Profile]:
    """The profiles in which it counts. Kueue accepts the deletion of a Cohort; Volcano's webhook refuses it."""
    if isinstance(node, Cohort):
        return STRICT_ONLY
    return COMPAT_ONLY if isinstance(node, Queue) and node.takes_children else BOTH
