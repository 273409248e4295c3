"""Shared by the rules about Kueue's quota: the kinds that they need, and how they write amounts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from policies.amounts.quota import Potential, countable, givers, reserved
from policies.dialects.kueue import (
    CLUSTER_QUEUE,
    COHORT,
    ClusterQueue,
    FlavorQuotas,
    KueueNode,
    ResourceQuota,
    flavor_resource,
)
from policies.dialects.kueue_kinds import resource_flavor_ref
from policies.judging.proposal import Proposal
from policies.model.findings import NotEvaluated, PlaceOf
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.model.pools import written

KINDS = (COHORT, CLUSTER_QUEUE)


def rests_on(forest: Forest, node: KueueNode, flavor: FlavorQuotas | None = None) -> tuple[PlaceOf, ...]:
    """What decides what the tree gives to the node: names and quotas of the Cohorts above, and the flavor's name."""
    above = list(forest.ancestors(node.ref))
    found: list[PlaceOf] = [*((ref, "") for ref in above), *((ref, "spec.resourceGroups") for ref in above)]
    if flavor is None:
        return tuple(found)
    cohorts = [cohort for ref in above if isinstance(cohort := forest.node(ref), KueueNode)]
    for cohort in cohorts:
        lent = (quota for other, quota in cohort.quotas() if other.name == flavor.name)
        found += ((cohort.ref, quota.field("nominalQuota")) for quota in lent)
    return (*found, (resource_flavor_ref(flavor.name), ""))


class QuotaLimit(NamedTuple):
    """The limit behind a potential, with whose it is, as `nominalQuota of ClusterQueues a and b`; of these, `node`."""

    text: str
    node: Ref


def limited_by(forest: Forest, ref: Ref, pair: str, most: Potential) -> QuotaLimit:
    """What limits the node to its potential `most`."""
    if most.limit != "nominalQuota":
        return QuotaLimit(f"{most.limit} of {most.node}", most.node)
    if found := givers(forest, ref, pair):
        return QuotaLimit(f"nominalQuota of {joined_refs(found)}", found[0])
    if most.amount:
        return QuotaLimit(f"nominalQuota of all in the tree of {most.node}", most.node)
    return QuotaLimit(f"nominalQuota of {ref}", ref)


def joined_refs(refs: Sequence[Ref]) -> str:
    """`ClusterQueues a and b, Cohort org`."""
    by_kind: dict[str, list[str]] = {}
    for ref in refs:
        by_kind.setdefault(ref.kind, []).append(ref.name)
    named = [f"{kind}{'s' * (len(names) > 1)} {' and '.join(names)}" for kind, names in by_kind.items()]
    return " and ".join(named)


def named_amount(pair: str, amount: int) -> str:
    """`cpu=4`, without the flavor."""
    resource = pair.partition("/")[2]
    return f"{resource}={written(resource, amount)}"


def flavor_of(pair: str) -> str:
    return pair.partition("/")[0]


def amount(pair: str, number: int) -> str:
    return written(pair.partition("/")[2], number)


def listed(node: KueueNode) -> Iterator[tuple[str, FlavorQuotas, ResourceQuota]]:
    """Every quota of the node with its pair."""
    for flavor, quota in node.quotas():
        yield flavor_resource(flavor.name, quota.name), flavor, quota


def changed_in_trees(proposal: Proposal) -> Iterator[tuple[KueueNode | None, KueueNode]]:
    """The changed nodes with a parent whose quotas in spec apply; none on or below a cycle, where nothing can be
    counted."""
    for before, node in proposal.changed(KueueNode):
        if node.parent is not None and node.effective is None and countable(proposal.after, node.ref):
            yield before, node


def written_in_trees(proposal: Proposal) -> Iterator[tuple[KueueNode, str, FlavorQuotas, ResourceQuota] | NotEvaluated]:
    """Each quota that changed or moved to another parent, with its pair; or NotEvaluated if the tree is not known."""
    for before, node in changed_in_trees(proposal):
        if missing := incomplete(proposal):
            yield missing
            return
        stood = before.terms() if before is not None and before.parent == node.parent else {}
        for pair, flavor, quota in listed(node):
            if stood.get(pair) != quota.terms():
                yield node, pair, flavor, quota


def incomplete(proposal: Proposal) -> NotEvaluated | None:
    """NotEvaluated where not all of the tree is known."""
    unknown = proposal.unknown(*KINDS)
    return NotEvaluated(f"not all objects of {', '.join(unknown)} are known") if unknown else None


def subtree_reserved(forest: Forest, ref: Ref, pair: str) -> int:
    """The reserved quota of workloads in the subtree, including borrowed quota."""
    node = forest.node(ref)
    return node.reserved.get(pair, 0) if isinstance(node, ClusterQueue) else reserved(forest, ref, pair)
