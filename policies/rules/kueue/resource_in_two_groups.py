from __future__ import annotations

from collections.abc import Iterator

from policies.cel.expression import Expression, joined, joined_list
from policies.cel.kueue import GROUPS
from policies.dialects.kueue import CLUSTER_QUEUE, COHORT, KueueNode
from policies.judging.rule import Proposal, rule
from policies.model.findings import Finding


def _counted(groups: str, names: str, name: str) -> str:
    """A CEL expression: how often the name occurs in all groups together."""
    found = f"h.?{names}.orValue([]).filter(m, m{'.name' if names == 'flavors' else ''} == {name}).size()"
    return f"variables.{groups}.map(h, {found}).sum()"


def _twice(what: str, names: str) -> str:
    name = "n.name" if names == "flavors" else "n"
    now, old = _counted("groups", names, name), _counted("old_groups", names, name)
    return f"""\
g.?{names}.orValue([]).filter(n, {now} > 1 && {now} > {old})
  .map(n, '{what} ' + {name} + ' is listed ' + string({now}) + ' times').join('; ')"""


_IN_GROUP = joined(_twice("resource", "coveredResources"), _twice("flavor", "flavors"))
_CEL = joined_list(f"variables.groups.map(g, {_IN_GROUP})")


@rule(
    "resource-in-two-groups",
    source="Kueue: webhooks of Cohort and ClusterQueue",
    kinds=(COHORT, CLUSTER_QUEUE),
    alone=True,
    cel=[Expression((COHORT, CLUSTER_QUEUE), _CEL, GROUPS)],
)
def resource_in_two_groups(proposal: Proposal) -> Iterator[Finding]:
    """A resource or a flavor is listed in more than one resource group, or twice in one.

    Why it is refused: the resources of a group get their flavor together, so each belongs to one group only. If one is
    listed twice, it is undefined which quota counts.
    Example: `memory` in the coveredResources of both groups; flavor `spot` in both groups.
    Fix: keep the entry that counts and remove the other; resources that must share flavors belong in one group.
    """
    for _, node in proposal.changed(KueueNode):
        yield from _repeated(node, "resource", _resources(node))
        yield from _repeated(node, "flavor", _flavors(node))


def _resources(node: KueueNode) -> Iterator[tuple[str, str]]:
    for group in node.groups:
        for index, name in enumerate(group.covered_resources):
            yield name, group.covered_field(index)


def _flavors(node: KueueNode) -> Iterator[tuple[str, str]]:
    for group in node.groups:
        for flavor in group.flavors:
            yield flavor.name, flavor.field("name")


def _repeated(node: KueueNode, what: str, places: Iterator[tuple[str, str]]) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for name, field in places:
        if not name:
            continue
        if name in first:
            yield Finding(
                node.ref,
                field,
                f"{what} {name} is listed again; it is already in {first[name]}",
                fix=f"keep {what} {name} in one of the two places",
                subject=f"{what} {name}",
            )
        first.setdefault(name, field)
