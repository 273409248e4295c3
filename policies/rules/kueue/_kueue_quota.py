"""Shared by the rules about Kueue's quota: changed quotas, the limit that decides a potential, and texts of amounts.

A `pair` is "flavor/resource".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from policies.amounts.quota import Potential, below, givers
from policies.dialects.kueue import (
    CLUSTER_QUEUE,
    COHORT,
    ClusterQueue,
    FlavorQuotas,
    KueueNode,
    ResourceQuota,
    flavor_resource,
)
from policies.dialects.kueue_kinds import RESOURCE_FLAVOR
from policies.judging.rule import Proposal
from policies.model.findings import NotEvaluated, ObjectField
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.model.pools import amount_text

KINDS = (COHORT, CLUSTER_QUEUE)


def quota_dependencies(forest: Forest, node: KueueNode, flavor: FlavorQuotas | None = None) -> tuple[ObjectField, ...]:
    """The fields that decide how much quota the tree gives to the node: the names and quotas of its ancestors.

    `flavor`: if it is set, also the name of this flavor and the node's quotas in it.
    """
    above = list(forest.ancestors(node.ref))
    found: list[ObjectField] = [*((ref, "") for ref in above), *((ref, "spec.resourceGroups") for ref in above)]
    if flavor is None:
        return tuple(found)
    cohorts = [cohort for ref in above if isinstance(cohort := forest.node(ref), KueueNode)]
    for cohort in cohorts:
        of_flavor = (quota for other, quota in cohort.quotas() if other.name == flavor.name)
        found += ((cohort.ref, quota.field("nominalQuota")) for quota in of_flavor)
    return (*found, (RESOURCE_FLAVOR.named(flavor.name), ""))


class QuotaLimit(NamedTuple):
    """The limit that decides a node's potential.

    `text`: the field and the nodes that set it, such as `nominalQuota of ClusterQueues a and b`.
    `node`: the first of these nodes.
    """

    text: str
    node: Ref


def binding_limit(forest: Forest, ref: Ref, pair: str, potential: Potential) -> QuotaLimit:
    if potential.limit != "nominalQuota":
        return QuotaLimit(f"{potential.limit} of {potential.node}", potential.node)
    if found := givers(forest, ref, pair):
        return QuotaLimit(f"nominalQuota of {joined_refs(found)}", found[0])
    if potential.amount:
        return QuotaLimit(f"nominalQuota of all in the tree of {potential.node}", potential.node)
    return QuotaLimit(f"nominalQuota of {ref}", ref)


def joined_refs(refs: Sequence[Ref]) -> str:
    """The names by kind, such as `ClusterQueues a and b and Cohort org`."""
    by_kind: dict[str, list[str]] = {}
    for ref in refs:
        by_kind.setdefault(ref.kind, []).append(ref.name)
    named = [f"{kind}{'s' * (len(names) > 1)} {' and '.join(names)}" for kind, names in by_kind.items()]
    return " and ".join(named)


def named_amount(pair: str, amount: int) -> str:
    """The amount with its resource, without the flavor, such as `cpu=4`."""
    return f"{pair.partition('/')[2]}={pair_amount(pair, amount)}"


def flavor_of(pair: str) -> str:
    return pair.partition("/")[0]


def pair_amount(pair: str, amount: int) -> str:
    return amount_text(pair.partition("/")[2], amount)


def quotas_by_pair(node: KueueNode) -> Iterator[tuple[str, FlavorQuotas, ResourceQuota]]:
    """All quotas of the node, each with its pair and flavor."""
    for flavor, quota in node.quotas():
        yield flavor_resource(flavor.name, quota.name), flavor, quota


def changed_quotas(proposal: Proposal) -> Iterator[tuple[KueueNode, str, FlavorQuotas, ResourceQuota] | NotEvaluated]:
    """Each quota that changed or got another parent: (node, pair, flavor, quota). NotEvaluated if the tree is unknown.

    Only nodes with a parent count. Nodes on or below a cycle are omitted, and nodes whose quotas in the status replace
    those of the spec.
    """
    for before, node in proposal.changed(KueueNode):
        if node.parent is None or node.effective is not None or not proposal.after.ends_at_root(node.ref):
            continue
        if missing := proposal.incomplete(*KINDS):
            yield missing
            return
        old_terms = before.terms() if before is not None and before.parent == node.parent else {}
        for pair, flavor, quota in quotas_by_pair(node):
            if old_terms.get(pair) != quota.terms():
                yield node, pair, flavor, quota


def subtree_reserved(forest: Forest, ref: Ref, pair: str) -> int:
    """The quota that workloads in the subtree reserve, including borrowed quota, by the status of the ClusterQueues."""
    node = forest.node(ref)
    return node.reserved.get(pair, 0) if isinstance(node, ClusterQueue) else below(forest, ref, pair).taken
