from __future__ import annotations

from collections.abc import Iterator

from policies.amounts import quota as arithmetic
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import STRICT_ONLY, Action, Cause, Finding, NotEvaluated
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.model.pools import UNLIMITED
from policies.rules.kueue._kueue_quota import (
    KINDS,
    amount_text,
    binding_limit,
    changed_quotas,
    flavor_of,
    named_amount,
    quota_dependencies,
)


@rule(
    "borrowing-limit-unreachable",
    source="Quotree; Kueue's potential of a queue",
    kinds=KINDS,
    default=Action.WARN,
)
def borrowing_limit_unreachable(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A node may borrow more than the rest of its tree could ever lend to it.

    Why it is reported: the limit has no effect and promises quota that does not exist. Often the unit is wrong, or a
    lendingLimit of other nodes was overlooked. Usage does not count here.
    Example: `borrowingLimit: 100` where all others in the cohort lend 20 cpu together.
    Fix: lower the limit to what the others can lend, or remove it if no limit is meant.
    """
    for changed in changed_quotas(proposal):
        if isinstance(changed, NotEvaluated):
            yield changed
            continue
        node, pair, flavor, quota = changed
        limit = quota.terms().borrowing
        if not limit or limit == UNLIMITED:
            continue
        offer = arithmetic.on_offer(proposal.after, node.ref, pair)
        if limit > offer:
            assert node.parent is not None
            most = arithmetic.potential(proposal.after, node.parent, pair)
            removed = (
                f"remove the limit, or give another queue of the tree {quota.name} of flavor {flavor.name} to lend"
            )
            lowered = f"lower the limit to {amount_text(pair, offer)}, or remove it if no limit is meant"
            yield Finding(
                node.ref,
                quota.field("borrowingLimit"),
                f"may borrow {named_amount(pair, limit)} of flavor {flavor.name}, but the rest of the tree could "
                "lend at "
                f"most {amount_text(pair, offer)}",
                fix=lowered if offer > 0 else removed,
                subject=pair,
                excess=limit - offer,
                causes=(_cause(proposal.after, node.parent, pair, most),),
                profiles=STRICT_ONLY,
                follows=(*quota_dependencies(proposal.after, node, flavor), (node.ref, quota.field("name"))),
            )


def _cause(forest: Forest, parent: Ref, pair: str, most: arithmetic.Potential) -> Cause:
    limit = binding_limit(forest, parent, pair, most)
    available = f"at most {named_amount(pair, most.amount)} of flavor {flavor_of(pair)} is available in {parent}"
    return Cause(limit.node, f"spec.resourceGroups {most.limit}", f"{available}, by {limit.text}")
