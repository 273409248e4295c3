from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import CLUSTER_QUEUE, COHORT, Cohort, KueueNode, ResourceQuota, flavor_resource
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Cause, Finding
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.model.printing import listed
from policies.model.quantity import Quantity

_NAMED = 10  # the most children that a finding lists, the largest first


@rule(
    "children-nominal-exceed-parent",
    source="A policy of Quotree, asked for in kubernetes-sigs/kueue#5289",
    kinds=(COHORT, CLUSTER_QUEUE),
    default=Action.OFF,
)
def children_nominal_exceed_parent(proposal: Proposal) -> Iterator[Finding]:
    """The nominal quotas of a Cohort's children add up to more than its own.

    Why it may be refused: turn the rule on if you plan quota from the top down, so that a Cohort's nominal quota limits
    everything below it. It is off by default, because Kueue adds the Cohort's nominal quota to that of its children, so
    the tree has the sum of both. A Cohort is compared only for the pairs of flavor and resource that it lists. A child
    counts with its own nominal quota for such a pair, or with the sum of its own children if it does not list the pair.
    Example: Cohort `eng` has 10 cpu in flavor `spot`; its ClusterQueues have 6 and 5.
    Fix: lower a child's nominalQuota, or raise the Cohort's.
    """
    for cohort in _concerned(proposal):
        below = proposal.after.below(cohort.ref).nominal
        quotas = {flavor_resource(flavor.name, quota.name): (flavor.name, quota) for flavor, quota in cohort.quotas()}
        for pair, (flavor, quota) in sorted(quotas.items()):
            if quota.nominal is not None and below.get(pair, 0) > quota.nominal.nano:
                yield _finding(proposal.after, cohort, flavor, quota, quota.nominal, below[pair])


def _concerned(proposal: Proposal) -> list[Cohort]:
    """The Cohorts whose sums may have changed: changed ones and all their ancestors. Nodes on a cycle have no sums."""
    nodes = (proposal.after.node(ref) for ref in sorted(proposal.after.upward(proposal.scope)))
    return [node for node in nodes if isinstance(node, Cohort) and not proposal.after.on_cycle(node.ref)]


def _finding(
    forest: Forest, cohort: Cohort, flavor: str, quota: ResourceQuota, nominal: Quantity, below: int
) -> Finding:
    pair = flavor_resource(flavor, quota.name)
    total = Quantity.of_nano(below, nominal.format)
    children = _shares(forest, cohort.ref, pair)
    named = listed([f"{ref.name} {amount.text}" for ref, amount in children[:_NAMED]], len(children))
    return Finding(
        cohort.ref,
        quota.field("nominalQuota"),
        f"its children have {quota.name}={total.text} in flavor {flavor} ({named}), but {cohort.name} caps "
        f"them at {nominal.text}; Kueue adds the two, up to {(nominal + total).text} in all",
        fix=f"lower the children by {(total - nominal).text} in all, or raise {cohort.name} to {total.text}",
        subject=pair,
        excess=below - nominal.nano,
        causes=tuple(
            Cause(ref, _field(forest, ref, pair), f"{quota.name}={amount.text} in flavor {flavor}")
            for ref, amount in children[:_NAMED]
        ),
        profiles=STRICT_ONLY,
    )


def _shares(forest: Forest, parent: Ref, pair: str) -> list[tuple[Ref, Quantity]]:
    """The children with an amount, the largest first. Use it only for messages: it visits all siblings."""
    counting = sorted(child for child, share in forest.shares(parent) if share.nominal.get(pair))
    amounts = [(ref, _shown(forest, ref, pair)) for ref in counting]
    return sorted(amounts, key=lambda entry: (-entry[1].nano, entry[0]))


def _shown(forest: Forest, ref: Ref, pair: str) -> Quantity:
    quota = _own(forest, ref, pair)
    return quota.nominal if quota and quota.nominal else Quantity.of_nano(forest.share_of(ref).nominal[pair])


def _field(forest: Forest, ref: Ref, pair: str) -> str:
    """The field with the amount of the child. If only its descendants list the amount, the field of its groups."""
    quota = _own(forest, ref, pair)
    return quota.field("nominalQuota") if quota else "spec.resourceGroups"


def _own(forest: Forest, ref: Ref, pair: str) -> ResourceQuota | None:
    node = forest.node(ref)
    quotas = node.quotas() if isinstance(node, KueueNode) else ()
    return next((quota for flavor, quota in quotas if flavor_resource(flavor.name, quota.name) == pair), None)
