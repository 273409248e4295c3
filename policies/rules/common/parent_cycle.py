from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import CLUSTER_QUEUE, COHORT
from policies.dialects.volcano import QUEUE, Queue, moved
from policies.judging.rule import Proposal, rule
from policies.model.change import Occasion
from policies.model.findings import BOTH, STRICT_ONLY, Action, Cause, Finding
from policies.model.forest import Forest
from policies.model.objects import Node, Ref

_WHOLE = 40  # the most members of a cycle that a message shows
_NAMED = 6  # the most members that a fix names


@rule(
    "parent-cycle",
    source="KEP-79; Volcano's webhook queues/validate: self parent; Volcano issue 5807",
    kinds=(COHORT, CLUSTER_QUEUE, QUEUE),
    only=Occasion.CYCLE,
)
def parent_cycle(proposal: Proposal) -> Iterator[Finding]:
    """The parents of a node lead back to it.

    Why it is refused: a tree without a root has no quota to share. Kueue admits nothing below such a Cohort, and
    Volcano's scheduler stops for the whole cluster. Volcano's own webhook refuses only a queue that names itself as its
    parent. A Volcano queue that is created or moved below a cycle is refused. Other nodes below a cycle get a warning.
    Example: `eng` has parent `org`, and `org` gets parent `eng`.
    Fix: give one node on the printed path another parent, or none.
    """
    forest = proposal.after
    if not forest.has_cycles:
        return
    reported: set[Ref] = set()
    leads: dict[Ref, tuple[Ref, ...]] = {}
    # First the nodes that were on no cycle before, so that a new cycle is reported at one of them.
    for before, node in sorted(
        proposal.changed(Node), key=lambda pair: (proposal.before.on_cycle(pair[1].ref), pair[1].ref)
    ):
        if node.ref in reported:
            continue
        if cycle := forest.cycle(node.ref):
            reported |= set(cycle)
            yield _finding(proposal, before, node, cycle)
        elif above := _cycle_above(forest, node, leads):
            yield Finding(
                node.ref,
                node.parent_field,
                f"is below the cycle {_drawn(above)}: nothing is admitted here until the cycle is broken",
                fix=_fix(above),
                profiles=STRICT_ONLY,
                action=None if _enters(before, node) else Action.WARN,
                follows=((above[0], ""),),
            )


def _enters(before: Node | None, node: Node) -> bool:
    """Whether a Volcano queue is new or gets another parent, since Volcano's webhook then checks all ancestors."""
    return isinstance(node, Queue) and moved(before if isinstance(before, Queue) else None, node)


def _finding(proposal: Proposal, before: Node | None, node: Node, cycle: tuple[Ref, ...]) -> Finding:
    refused_upstream = len(cycle) == 1 and _enters(before, node)
    members = [proposal.after.node(ref) for ref in cycle[1:_WHOLE]]
    return Finding(
        node.ref,
        node.parent_field,
        f"its parents form a cycle: {_drawn(cycle)}",
        fix=_fix(cycle),
        excess=len(cycle),
        causes=tuple(
            Cause(member.ref, member.parent_field, f"has parent {member.parent.name}")
            for member in members
            if member is not None and member.parent is not None
        ),
        profiles=BOTH if refused_upstream else STRICT_ONLY,
        concerns=tuple((member, "") for member in cycle),
    )


def _cycle_above(forest: Forest, node: Node, leads: dict[Ref, tuple[Ref, ...]]) -> tuple[Ref, ...]:
    """The cycle that the node's ancestors lead to; empty if there is none.

    `leads`: the known results for nodes. It gets those of the ancestors, so that a long path is walked only once.
    """
    path: list[Ref] = []
    here: Node | None = node
    while here is not None and here.ref not in leads and not forest.on_cycle(here.ref):
        path.append(here.ref)
        here = forest.node(here.parent) if here.parent is not None else None
    found = () if here is None else leads.get(here.ref) or forest.cycle(here.ref)
    leads.update(dict.fromkeys(path, found))
    return found


def _drawn(cycle: tuple[Ref, ...]) -> str:
    """The cycle as `a -> b -> a`. Of a very long cycle, only both ends."""
    names = [ref.name for ref in (*cycle, cycle[0])]
    if len(names) > _WHOLE:
        names[_WHOLE // 2 : -_WHOLE // 2] = [f"({len(names) - _WHOLE} more)"]
    return " -> ".join(names)


def _fix(cycle: tuple[Ref, ...]) -> str:
    named = " or ".join(ref.name for ref in cycle[:_NAMED])
    more = f" or another of the {len(cycle)}" if len(cycle) > _NAMED else ""
    return f"give {named}{more} another parent"
