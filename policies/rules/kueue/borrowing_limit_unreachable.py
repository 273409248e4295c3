from __future__ import annotations

from collections.abc import Iterator

from policies.amounts import quota as arithmetic
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import STRICT_ONLY, Action, Cause, Finding, NotEvaluated
from policies.model.pools import UNLIMITED
from policies.rules.kueue._kueue_quota import KINDS, amount, flavor_of, said, written_in_trees


@rule(
    "borrowing-limit-unreachable",
    source="Quotree; Kueue's potential of a queue",
    kinds=KINDS,
    default=Action.WARN,
)
def borrowing_limit_unreachable(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A node may borrow more than the rest of its tree could ever lend to it.

    Why it is reported: such a limit limits nothing and promises what is not there. Often the number was meant in
    another unit, or the lenders have a lendingLimit that nobody thought of. What is in use does not count here.
    Example: `borrowingLimit: 100` where all others in the cohort lend 20 cpu together.
    Fix: lower the limit to what is on offer, or remove it if no limit is meant.
    """
    for written in written_in_trees(proposal):
        if isinstance(written, NotEvaluated):
            yield written
            continue
        node, pair, flavor, quota = written
        limit = quota.terms().borrowing
        if not limit or limit == UNLIMITED:
            continue
        offer = arithmetic.on_offer(proposal.after, node.ref, pair)
        if limit > offer:
            assert node.parent is not None
            most = arithmetic.potential(proposal.after, node.parent, pair)
            yield Finding(
                node.ref,
                quota.field("borrowingLimit"),
                f"may borrow {said(pair, limit)} of flavor {flavor.name}, but the rest of the tree could lend at "
                f"most {amount(pair, offer)}",
                fix=f"lower the limit to {amount(pair, offer)}, or remove it if no limit is meant",
                subject=pair,
                excess=limit - offer,
                causes=(Cause(most.node, f"spec.resourceGroups {most.limit}", _why(most, flavor_of(pair), pair)),),
                profiles=STRICT_ONLY,
            )


def _why(most: arithmetic.Potential, flavor: str, pair: str) -> str:
    return f"no more than {said(pair, most.amount)} of flavor {flavor} comes together here, by its {most.limit}"
