from __future__ import annotations

from collections.abc import Iterator

from policies.amounts import quota as arithmetic
from policies.dialects.kueue import CLUSTER_QUEUE, ClusterQueue
from policies.dialects.kueue_state import NEVER
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Finding, NotEvaluated
from policies.model.forest import Forest
from policies.rules.kueue._kueue_quota import KINDS, quota_dependencies


@rule(
    "reclaim-without-loan",
    source="Quotree; Kueue's reclaimWithinCohort and borrowWithinCohort",
    kinds=(CLUSTER_QUEUE,),
    default=Action.WARN,
)
def reclaim_without_loan(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A ClusterQueue may reclaim quota from its cohort, or preempt there to borrow, but there is no such quota.

    Why it is reported: with `reclaimWithinCohort` a queue reclaims quota that others have borrowed from it or from its
    ancestors. If none of these lends anything, nothing can be borrowed, and the setting has no effect. The same holds
    for `borrowWithinCohort` if no other node lends to the queue. With Kueue's fair sharing, a queue that can borrow
    also reclaims its fair share of what others borrow. So `reclaimWithinCohort` is not reported if the queue can borrow
    and has a `fairSharing.weight`.
    Example: `reclaimWithinCohort: Any` in a queue whose flavors all have `lendingLimit: 0`.
    Fix: raise a lendingLimit, or set the policy to Never. With fair sharing, write the weight, which is 1 by default.
    """
    for before, queue in proposal.changed(ClusterQueue):
        if queue.parent is None or not any(queue.terms()) or not proposal.after.ends_at_root(queue.ref):
            continue
        if before is not None and _settings(before) == _settings(queue):
            continue
        if missing := proposal.incomplete(*KINDS):
            yield missing
            return
        yield from _findings(proposal.after, queue)


def _settings(queue: ClusterQueue) -> object:
    return queue.preemption, queue.parent, queue.terms()


def _findings(forest: Forest, queue: ClusterQueue) -> Iterator[Finding]:
    policy, shares = queue.preemption, queue.weight is not None and _borrows(forest, queue)
    if policy.reclaim_within_cohort != NEVER and not shares and not _lends(forest, queue):
        yield Finding(
            queue.ref,
            "spec.preemption.reclaimWithinCohort",
            f"is {policy.reclaim_within_cohort}, but {queue.name} lends nothing that others could have borrowed: there "
            "is nothing to reclaim",
            fix=f"raise a lendingLimit or a nominalQuota of {queue.name}, or set reclaimWithinCohort to Never",
            profiles=STRICT_ONLY,
            follows=quota_dependencies(forest, queue),
        )
    if policy.borrow_within_cohort != NEVER and not _borrows(forest, queue):
        yield Finding(
            queue.ref,
            "spec.preemption.borrowWithinCohort.policy",
            f"is {policy.borrow_within_cohort}, but {queue.name} can borrow nothing: its borrowingLimit is 0, or "
            "nobody in its tree lends",
            fix="raise the borrowingLimit or the lendingLimit of a sibling, or set borrowWithinCohort to Never",
            profiles=STRICT_ONLY,
            follows=quota_dependencies(forest, queue),
        )


def _lends(forest: Forest, queue: ClusterQueue) -> bool:
    """Whether the queue or an ancestor, except the root, lends a flavor and resource that the queue lists."""
    below_root = (queue.ref, *forest.ancestors(queue.ref))[:-1]
    return any(arithmetic.lent(forest, ref, pair) for ref in below_root for pair in queue.terms())


def _borrows(forest: Forest, queue: ClusterQueue) -> bool:
    return any(
        terms.borrowing != 0 and arithmetic.on_offer(forest, queue.ref, pair) > 0
        for pair, terms in queue.terms().items()
    )
