"""The rules about limits of borrowing and lending that the rest of the tree makes useless."""

from __future__ import annotations

from collections.abc import Iterator

from policies.amounts import quota as arithmetic
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Cause, Finding, NotEvaluated
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.model.pools import NO_POOL, UNLIMITED
from policies.rules.kueue._kueue_quota import (
    KINDS,
    binding_limit,
    changed_quotas,
    flavor_of,
    named_amount,
    pair_amount,
    quota_dependencies,
)


@rule("borrowing-limit-unreachable", source="Quotree; Kueue's potential of a queue", kinds=KINDS, default=Action.WARN)
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
            lowered = f"lower the limit to {pair_amount(pair, offer)}, or remove it if no limit is meant"
            yield Finding(
                node.ref,
                quota.field("borrowingLimit"),
                f"may borrow {named_amount(pair, limit)} of flavor {flavor.name}, but the rest of the tree could lend "
                f"at most {pair_amount(pair, offer)}",
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


@rule(
    "lending-limit-idle",
    source="Quotree; Kueue: only queues that list a flavor and resource can borrow it",
    kinds=KINDS,
    default=Action.WARN,
)
def lending_limit_idle(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A node limits what it lends, but no other node of its tree could borrow it.

    Why it is reported: only a ClusterQueue that lists the flavor and the resource itself, even with 0, can borrow it.
    Without a borrower the limit has no effect; usually a queue is missing or has the wrong cohort.
    Example: `lendingLimit: 4` in flavor `a100` where no other queue of the cohort lists `a100`.
    Fix: remove the limit, or list the flavor and resource, with nominalQuota 0, in the queues that should borrow.
    """
    for changed in changed_quotas(proposal):
        if isinstance(changed, NotEvaluated):
            yield changed
            continue
        node, pair, flavor, quota = changed
        limit = quota.terms().lending
        if not limit or _takers(proposal.after, node.ref, pair):  # a limit of 0 says that nothing is lent
            continue
        yield Finding(
            node.ref,
            quota.field("lendingLimit"),
            f"may lend {named_amount(pair, limit)} of flavor {flavor.name}, but no other queue of its tree lists it",
            fix=f"remove lendingLimit, or list {quota.name} in flavor {flavor.name} with nominalQuota 0 in the "
            "queues that should borrow it",
            subject=pair,
            profiles=STRICT_ONLY,
            follows=(*quota_dependencies(proposal.after, node, flavor), (node.ref, quota.field("name"))),
        )


def _takers(forest: Forest, ref: Ref, pair: str) -> int:
    """The number of ClusterQueues in the tree that list the pair, without those in the subtree of the node."""
    root = arithmetic.root_of(forest, ref)
    own = forest.share_of(ref).pools.get(pair, NO_POOL)
    return arithmetic.below(forest, root, pair).queues - own.queues
