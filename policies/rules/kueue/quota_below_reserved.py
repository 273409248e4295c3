from __future__ import annotations

from collections.abc import Iterator

from policies.amounts import quota as arithmetic
from policies.dialects.kueue import ClusterQueue
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Finding, NotEvaluated
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.model.pools import NO_TERMS, minus, plus
from policies.rules.kueue._kueue_quota import (
    KINDS,
    flavor_of,
    named_amount,
    pair_amount,
    subtree_reserved,
)


@rule("quota-below-reserved", source="Kueue issues 13716 and 15933", kinds=KINDS, default=Action.WARN)
def quota_below_reserved(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """Quota is lowered or moved away, so that less is left than workloads have reserved.

    Why it is reported: Kueue evicts nothing because of this. Running work continues, nothing new fits until enough of
    it has ended, and other queues may reclaim the usage beyond a queue's own quota. It is a warning, since it is
    legitimate to lower quota in a full cluster. Reserved quota is read from `status.flavorsReservation` of the
    ClusterQueues.
    Example: ClusterQueue `ml` uses 10 cpu, and its nominalQuota goes from 10 to 4 with borrowingLimit 2.
    Fix: wait until the work has ended, or cut the quota in smaller steps.
    """
    edited = any(change.before is not None and change.ref.group_kind in KINDS for change in proposal.changes)
    if edited and (missing := proposal.incomplete(*KINDS)):
        yield missing
        return
    worse: set[tuple[Ref, str]] = set()
    for ref in sorted(proposal.after.upward(proposal.scope)):
        if not proposal.after.ends_at_root(ref):
            continue
        for pair, work in sorted(_held(proposal, ref).items()):
            over, most = _over(proposal.after, ref, pair, work)
            if over > 0 and over > _over(proposal.before, ref, pair, subtree_reserved(proposal.before, ref, pair))[0]:
                worse.add((ref, pair))
                yield _finding(proposal, ref, pair, over, most, work)
    yield from _borrowers(proposal, worse)


def _held(proposal: Proposal, ref: Ref) -> dict[str, int]:
    """The quota that workloads in the subtree have reserved, by pair."""
    forest = _forest_with_status(proposal, proposal.after, ref)
    node = forest.node(ref)
    if isinstance(node, ClusterQueue):
        return {pair: work for pair, work in node.reserved.items() if work > 0}
    return {pair: pool.taken for pair, pool in forest.below(ref).pools.items() if pool.taken > 0}


def _over(forest: Forest, ref: Ref, pair: str, work: int) -> tuple[int, int]:
    """The amount beyond the limit of the node, and the limit, if workloads have reserved `work`.

    A node that may borrow without limit is never over its limit. Its root is.
    """
    if work <= 0:
        return 0, 0
    node, own, most = forest.node(ref), arithmetic.terms(forest, ref, pair), arithmetic.subtree(forest, ref, pair)
    if node is not None and node.parent is not None:
        if own.borrowing is None:
            return 0, most
        most = plus(most, own.borrowing)
    return max(0, minus(work, most)), most


def _forest_with_status(proposal: Proposal, forest: Forest, ref: Ref) -> Forest:
    """The forest whose status counts: that before the change for a manifest from a file, which has no status."""
    node = forest.node(ref)
    return forest if not isinstance(node, ClusterQueue) or node.reserved else proposal.before


def _finding(proposal: Proposal, ref: Ref, pair: str, over: int, most: int, work: int) -> Finding:
    at = ref if proposal.after.node(ref) is not None else min(change.ref for change in proposal.changes)
    short = pair_amount(pair, over)
    return Finding(
        at,
        "spec.resourceGroups",
        f"{ref} holds {named_amount(pair, work)} of flavor {flavor_of(pair)} for workloads, but may hold only "
        f"{pair_amount(pair, most)}: it is over by {short}; running work continues, nothing new fits",
        fix=f"wait until work that holds {short} has ended, or give it {short} more quota",
        subject=f"{ref.kind} {ref.name} {pair}",
        excess=over,
        profiles=STRICT_ONLY,
    )


def _borrowers(proposal: Proposal, worse: set[tuple[Ref, str]]) -> Iterator[Finding]:
    """Findings for queues whose usage still fits into the tree, but now is partly borrowed."""
    for before, queue in proposal.changed(ClusterQueue):
        if before is None or queue.parent is None or not proposal.after.ends_at_root(queue.ref):
            continue
        source = _forest_with_status(proposal, proposal.after, queue.ref)
        for pair, terms in before.terms().items():
            left, work = queue.terms().get(pair, NO_TERMS).nominal, subtree_reserved(source, queue.ref, pair)
            if left < work <= terms.nominal and (queue.ref, pair) not in worse:
                yield Finding(
                    queue.ref,
                    "spec.resourceGroups",
                    f"{queue.name} holds {named_amount(pair, work)} of flavor {flavor_of(pair)} for workloads and "
                    f"keeps a nominal quota of {pair_amount(pair, left)}: {pair_amount(pair, work - left)} is borrowed "
                    "after this change, and others may reclaim it",
                    fix=f"leave nominalQuota at {pair_amount(pair, work)} until the work has ended",
                    subject=f"{queue.ref.kind} {queue.name} {pair}",
                    excess=work - left,
                    profiles=STRICT_ONLY,
                )
