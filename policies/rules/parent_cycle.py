from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import CLUSTER_QUEUE, COHORT
from policies.dialects.volcano import QUEUE, Queue, moved
from policies.objects import Node, Ref
from policies.proposal import Proposal
from policies.rule import BOTH, STRICT_ONLY, Action, Cause, Finding, rule


@rule("parent-cycle", source="KEP-79; Volcano Q7 and gap C1", kinds=(COHORT, CLUSTER_QUEUE, QUEUE))
def parent_cycle(proposal: Proposal) -> Iterator[Finding]:
    """Following the parents from a node leads back to it.

    Why it is refused: a tree without a root has no quota to share. Kueue stops admitting anything below such a cohort,
    Volcano's scheduler stops for the whole cluster. Volcano's own webhook notices only a queue that names itself.
    Example: `eng` has parent `org`, and `org` is given parent `eng`.
    Fix: give one node on the printed path another parent, or none.
    """
    told: set[Ref] = set()
    # A node that was on no cycle before comes first: where it is told, the cycle is a new one.
    for before, node in sorted(
        proposal.changed(Node), key=lambda pair: (proposal.before.on_cycle(pair[1].ref), pair[1].ref)
    ):
        cycle = proposal.after.cycle(node.ref)
        if cycle and node.ref not in told:
            told |= set(cycle)
            yield _finding(proposal, before, node, cycle)
        elif not cycle and (above := _cycle_above(proposal, node.ref)):
            yield Finding(
                node.ref,
                node.parent_field,
                f"hangs below the cycle {_drawn(above)}: nothing is admitted here until that is broken",
                fix=f"give one of {', '.join(ref.name for ref in above)} another parent",
                profiles=STRICT_ONLY,
                action=Action.WARN,
            )


def _finding(proposal: Proposal, before: Node | None, node: Node, cycle: tuple[Ref, ...]) -> Finding:
    refused_upstream = (
        isinstance(node, Queue) and len(cycle) == 1 and moved(before if isinstance(before, Queue) else None, node)
    )
    members = [proposal.after.node(ref) for ref in cycle[1:]]
    return Finding(
        node.ref,
        node.parent_field,
        f"its parents form a cycle: {_drawn(cycle)}",
        fix=f"give {' or '.join(ref.name for ref in cycle)} another parent",
        excess=len(cycle),
        causes=tuple(
            Cause(member.ref, member.parent_field, f"has parent {member.parent.name}")
            for member in members
            if member is not None and member.parent is not None
        ),
        profiles=BOTH if refused_upstream else STRICT_ONLY,
    )


def _cycle_above(proposal: Proposal, ref: Ref) -> tuple[Ref, ...]:
    for ancestor in proposal.after.ancestors(ref):
        if proposal.after.on_cycle(ancestor):
            return proposal.after.cycle(ancestor)
    return ()


def _drawn(cycle: tuple[Ref, ...]) -> str:
    return " -> ".join(ref.name for ref in (*cycle, cycle[0]))
