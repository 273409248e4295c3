from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from policies.cel.expression import Expression
from policies.cel.kueue import GROUPS, each_quota
from policies.dialects.kueue import CLUSTER_QUEUE, COHORT, FlavorQuotas, KueueNode, ResourceGroup
from policies.dialects.kueue_quotas import ResourceQuota
from policies.dialects.resource_names import likely_name
from policies.judging.rule import Proposal, rule
from policies.model.findings import Finding, Patch, write
from policies.model.objects import Ref


def _mismatch(flavor: str, group: str) -> str:
    return f"{flavor}.resources.map(n, n.name) != {group}.coveredResources"


def _gap(flavor: str, group: str) -> str:
    """A CEL expression: by how many entries the lists differ in length."""
    lengths = f"{flavor}.resources.size(), {group}.coveredResources.size()"
    return f"([{lengths}].max() - [{lengths}].min())"


_CEL = each_quota(f"""\
(has(f.resources) && has(g.coveredResources) && {_mismatch("f", "g")}
  && !variables.old_groups.exists(h, h.?flavors.orValue([]).exists(e, e.name == f.name && has(e.resources)
    && has(h.coveredResources) && {_mismatch("e", "h")} && {_gap("e", "h")} >= {_gap("f", "g")}))
) ? 'flavor ' + f.name + ' lists ' + f.resources.map(n, n.name).join(', ') + ' where its group covers '
  + g.coveredResources.join(', ') : ''""")


@rule(
    "flavor-resources-mismatch",
    source="Kueue: webhooks of Cohort and ClusterQueue (names, order), CEL of the resource group (number)",
    kinds=(COHORT, CLUSTER_QUEUE),
    alone=True,
    cel=[Expression((COHORT, CLUSTER_QUEUE), _CEL, GROUPS)],
)
def flavor_resources_mismatch(proposal: Proposal) -> Iterator[Finding]:
    """A flavor does not list exactly the resources that its group covers, in the same order.

    Why it is refused: a workload gets one flavor for all resources of a group, so each flavor needs a quota for each of
    them; a missing one would mean no quota at all. Kueue also requires the same order.
    Example: the group covers `cpu, memory`; flavor `spot` lists `memory, cpu`, or only `cpu`.
    Fix: under each flavor, list the coveredResources of its group in their order; a quota may be 0.
    """
    for _, node in proposal.changed(KueueNode):
        for group in node.groups:
            for flavor in group.flavors:
                if _is_readable(group, flavor):
                    yield from _misplaced(node.ref, group, flavor)
                    yield from _miscounted(node.ref, group, flavor)


def _is_readable(group: ResourceGroup, flavor: FlavorQuotas) -> bool:
    """Whether both lists exist and have a name in each entry. Otherwise `bad-structure` reports the fault."""
    names = (*group.covered_resources, *_listed(flavor))
    return bool(group.covered_resources) and bool(flavor.resources) and all(names)


def _misplaced(ref: Ref, group: ResourceGroup, flavor: FlavorQuotas) -> Iterator[Finding]:
    patch = _reordering(group, flavor)
    for index, (quota, covered) in enumerate(zip(flavor.resources, group.covered_resources, strict=False)):
        if quota.name != covered:
            slip = _slip(group.covered_field(index), covered, quota)
            yield Finding(
                ref,
                quota.field("name"),
                f"flavor {flavor.name} lists {quota.name} where its group covers {covered}",
                fix=slip.fix if slip else _fix(group, flavor),
                subject=f"{flavor.name}/{quota.name}",
                patch=slip.patch if slip else patch,
                concerns=((ref, group.covered_field(index)),) if slip else (),
            )
            patch = ()  # only the first finding has the patch, since it puts the whole list in order


class _Slip(NamedTuple):
    """The fix for a misspelt name, and the patch that applies it."""

    fix: str
    patch: Patch


def _slip(covered_field: str, covered: str, quota: ResourceQuota) -> _Slip | None:
    """The fix if one of the two names is a misspelling of the other, else None."""
    if likely_name(quota.name) == covered:
        return _Slip(f"did you mean {covered}?", write(quota.field("name"), covered))
    if likely_name(covered) == quota.name:
        return _Slip(f"write {quota.name} in coveredResources", write(covered_field, quota.name))
    return None


def _miscounted(ref: Ref, group: ResourceGroup, flavor: FlavorQuotas) -> Iterator[Finding]:
    covered, listed = group.covered_resources, _listed(flavor)
    if len(covered) != len(listed):
        missing = [name for name in covered if name not in listed]
        surplus = [name for name in listed if name not in covered]
        lacks = f"; it lacks {', '.join(missing)}" if missing else ""
        extra = f"; {', '.join(surplus)} {'is' if len(surplus) == 1 else 'are'} not covered" if surplus else ""
        yield Finding(
            ref,
            flavor.field("resources"),
            f"flavor {flavor.name} lists {_count(listed)}, but its group covers {len(covered)}{lacks}{extra}",
            fix=_fix(group, flavor),
            subject=flavor.name,
            excess=abs(len(covered) - len(listed)),
        )


def _fix(group: ResourceGroup, flavor: FlavorQuotas) -> str:
    return f"list under flavor {flavor.name} exactly {', '.join(group.covered_resources)}, in this order"


def _reordering(group: ResourceGroup, flavor: FlavorQuotas) -> tuple[dict[str, str], ...]:
    """The moves that put the list in order; empty if its names are not those that the group covers."""
    covered, left = group.covered_resources, _listed(flavor)
    if sorted(covered) != sorted(left):
        return ()
    moves = []
    for index, name in enumerate(covered):
        here = left.index(name, index)
        if here != index:
            left.insert(index, left.pop(here))
            at = flavor.pointer("resources", here), flavor.pointer("resources", index)
            moves.append({"op": "move", "from": at[0], "path": at[1]})
    return tuple(moves)


def _listed(flavor: FlavorQuotas) -> list[str]:
    return [quota.name for quota in flavor.resources]


def _count(names: list[str]) -> str:
    return "1 resource" if len(names) == 1 else f"{len(names)} resources"
