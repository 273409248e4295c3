from __future__ import annotations

from collections.abc import Iterator

from policies.amounts import quota as arithmetic
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import STRICT_ONLY, Action, Finding, NotEvaluated
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.model.pools import NO_POOL
from policies.rules.kueue._kueue_quota import KINDS, changed_quotas, named_amount, quota_dependencies


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
        if limit is None or _takers(proposal.after, node.ref, pair):
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
