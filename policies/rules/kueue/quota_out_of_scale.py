from __future__ import annotations

from collections.abc import Iterator

from policies.amounts.quota import terms
from policies.dialects.kueue import KueueNode, ResourceQuota
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Cause, Finding, NotEvaluated
from policies.model.forest import Forest
from policies.model.pools import NO_POOL, UNLIMITED
from policies.rules.kueue._kueue_quota import KINDS, flavor_of, pair_amount, quotas_by_pair

_FACTOR = 1000
"""The least factor between quotas of siblings that is reported: that between cores and milli-CPU, or Mi and Gi."""


@rule("quota-out-of-scale", source="Kueue issue 12207", kinds=KINDS, default=Action.WARN)
def quota_out_of_scale(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A nominal quota is a thousand times that of a sibling, or a thousandth.

    Why it is reported: quotas of siblings with different units look similar in the manifests, but one of them can
    borrow or lend practically without limit. Nobody notices before the cluster is full.
    Example: `memory` with `nominalQuota: 20096Mi` next to a queue with `nominalQuota: 1`, which is one byte; `cpu:
    1000` next to `cpu: 1`, where 1000m was meant.
    Fix: write the unit. If the quotas are intended, ignore the warning.
    """
    for before, node in proposal.changed(KueueNode):
        if node.parent is None or node.effective is not None:
            continue
        if missing := proposal.incomplete(*KINDS):
            yield missing
            return
        old_terms = before.terms() if before is not None and before.parent == node.parent else {}
        siblings = proposal.after.below(node.parent).pools  # with the node itself
        for pair, _, quota in quotas_by_pair(node):
            own, every = quota.terms().nominal, siblings.get(pair, NO_POOL)
            if own in (0, UNLIMITED) or (pair in old_terms and old_terms[pair].nominal == own):
                continue
            if own < _FACTOR * every.smallest and every.largest < _FACTOR * own:
                continue  # as in nearly all cases; this check does not need the total without the node
            others = proposal.after.beside(node.ref).pools.get(pair, NO_POOL)
            if others.smallest and own >= _FACTOR * others.smallest:
                yield _finding(proposal.after, node, quota, pair, others.smallest)
            elif others.largest >= _FACTOR * own:
                yield _finding(proposal.after, node, quota, pair, others.largest)


def _finding(forest: Forest, node: KueueNode, quota: ResourceQuota, pair: str, other: int) -> Finding:
    own = quota.terms().nominal
    relation = f"{own // other} times" if own > other else f"1/{other // own} of"
    sibling = _sibling(forest, node, pair, other)
    other_quota = next(each for named, _, each in quotas_by_pair(sibling) if named == pair)
    likely = _is_likely(quota, other_quota, own > other)
    here = (node.ref, quota.field("nominalQuota"))
    wrote = quota.nominal.text if quota.nominal else ""
    return Finding(
        node.ref,
        quota.field("nominalQuota"),
        f"{quota.name}={wrote} in flavor {flavor_of(pair)} is {relation} what its sibling {sibling.name} has, "
        f"{pair_amount(pair, other)}",
        fix=_fix(quota, own > other, wrote),
        subject=pair,
        causes=(Cause(sibling.ref, "spec.resourceGroups", f"{quota.name}={pair_amount(pair, other)}"),),
        profiles=STRICT_ONLY,
        follows=(here,) if likely else (here, (sibling.ref, other_quota.field("nominalQuota"))),
        concerns=(here,) if likely else (),
    )


def _lacks_suffix(quota: ResourceQuota) -> bool:
    return quota.name == "memory" and quota.nominal is not None and quota.nominal.text.isdecimal()


def _is_likely(quota: ResourceQuota, other: ResourceQuota, larger: bool) -> bool:
    """Whether this quota is probably the wrong one: the larger, unless the smaller is memory without a suffix."""
    return not _lacks_suffix(other) if larger else _lacks_suffix(quota)


def _sibling(forest: Forest, node: KueueNode, pair: str, nominal: int) -> KueueNode:
    """The first sibling with this quota. It visits all siblings, so it is called only for a message."""
    assert node.parent is not None
    near = (ref for ref, _ in forest.shares(node.parent) if ref != node.ref)
    found = forest.node(min(ref for ref in near if terms(forest, ref, pair).nominal == nominal))
    assert isinstance(found, KueueNode)
    return found


def _fix(quota: ResourceQuota, larger: bool, wrote: str) -> str:
    if quota.name == "cpu" and larger and wrote.isdecimal():
        return f"cpu is counted in cores; write {wrote}m if milli-CPU was meant"
    if not larger and _lacks_suffix(quota):
        return f"memory without a suffix is counted in bytes; write {wrote}Gi or {wrote}Mi if that was meant"
    return "write both in the same unit; leave it if the two are meant to differ that much"
