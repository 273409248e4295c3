from __future__ import annotations

from collections.abc import Iterator

from policies.amounts import quota as arithmetic
from policies.dialects.kueue import KueueNode
from policies.judging.rule import Proposal, rule
from policies.model.change import Occasion
from policies.model.findings import STRICT_ONLY, Action, Cause, Finding, NotEvaluated
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.model.pools import NO_POOL
from policies.rules.kueue._kueue_quota import (
    KINDS,
    flavor_of,
    named_amount,
    pair_amount,
    subtree_reserved,
)


@rule("moved-to-another-root", source="Kueue issue 15933", kinds=KINDS, default=Action.WARN, only=Occasion.PLACEMENT)
def moved_to_another_root(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A ClusterQueue or Cohort leaves its tree and takes along quota that others in the tree could use.

    Why it is reported: the tree loses all quota that the node lends at once, but the work that has borrowed it
    continues. The message has the amount, the rest in the tree, and the usage of the node's own workloads.
    Example: ClusterQueue `ml` with 10 cpu goes from cohort `research` to `production`; `research` had 31 cpu.
    Fix: make sure that the tree does not need this quota, or leave a part of it in the tree before you move the node.
    """
    for before, node in proposal.changed(KueueNode):
        if before is None or before.parent == node.parent or before.parent is None:
            continue
        if not all(forest.ends_at_root(node.ref) for forest in (proposal.before, proposal.after)):
            continue
        if missing := proposal.incomplete(*KINDS):
            yield missing
            return
        old, new = (arithmetic.root_of(forest, node.ref) for forest in (proposal.before, proposal.after))
        if old != new:
            yield from _findings(proposal, node, old, new)


def _findings(proposal: Proposal, node: KueueNode, old: Ref, new: Ref) -> Iterator[Finding]:
    for pair, pool in sorted(proposal.before.share_of(node.ref).pools.items()):
        work = subtree_reserved(proposal.before, node.ref, pair)
        if not pool.lent and not work:
            continue
        left, had = (_subtree(forest, old, pair) for forest in (proposal.after, proposal.before))
        yield Finding(
            node.ref,
            node.parent_field,
            f"moves from the tree of {old.name} to that of {new.name} and takes {named_amount(pair, pool.lent)} "
            "of flavor "
            f"{flavor_of(pair)} with it, which others could use: {old.name} has {pair_amount(pair, left)} afterwards, "
            f"{pair_amount(pair, had)} before; the workloads of {node.ref.name} hold {pair_amount(pair, work)}",
            fix=f"make sure that {old.name} does not need it, or leave part of the quota there",
            subject=pair,
            causes=(
                Cause(old, "spec.resourceGroups", f"has {named_amount(pair, left)} of flavor {flavor_of(pair)} left"),
            ),
            profiles=STRICT_ONLY,
            follows=((new, ""),),
        )


def _subtree(forest: Forest, root: Ref, pair: str) -> int:
    return arithmetic.subtree(forest, root, pair) if forest.ends_at_root(root) else NO_POOL.lent
