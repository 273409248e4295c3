from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import CLUSTER_QUEUE, COHORT, QuotaNode
from policies.model.proposal import Proposal
from policies.model.rule import Finding, rule


@rule(
    "resource-in-two-groups",
    source="Kueue: webhooks of Cohort and ClusterQueue",
    kinds=(COHORT, CLUSTER_QUEUE),
    alone=True,
)
def resource_in_two_groups(proposal: Proposal) -> Iterator[Finding]:
    """A resource or a flavor stands in more than one resource group, or twice in one.

    Why it is refused: the resources of one group get their flavor together, and each has one group only. Listed twice,
    it is open which of the two quotas counts.
    Example: `memory` in the coveredResources of both groups; flavor `spot` in both groups.
    Fix: keep the entry that counts and remove the other; resources that must share flavors belong in one group.
    """
    for _, node in proposal.changed(QuotaNode):
        yield from _repeated(node, "resource", _resources(node))
        yield from _repeated(node, "flavor", _flavors(node))


def _resources(node: QuotaNode) -> Iterator[tuple[str, str]]:
    for group in node.groups:
        for index, name in enumerate(group.covered_resources):
            yield name, group.covered_field(index)


def _flavors(node: QuotaNode) -> Iterator[tuple[str, str]]:
    for group in node.groups:
        for flavor in group.flavors:
            yield flavor.name, flavor.field("name")


def _repeated(node: QuotaNode, what: str, places: Iterator[tuple[str, str]]) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for name, field in places:
        if not name:
            continue
        if name in first:
            yield Finding(
                node.ref,
                field,
                f"{what} {name} is listed again; it stands in {first[name]} already",
                fix=f"keep {what} {name} in one of the two places",
                subject=f"{what} {name}",
            )
        first.setdefault(name, field)
