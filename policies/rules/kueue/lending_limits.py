"""The rules about limits of borrowing and lending that one object decides."""

from __future__ import annotations

from collections.abc import Iterator

from policies.cel.expression import Expression, amount, joined, quantity
from policies.cel.kueue import GROUPS, each_quota, same_before
from policies.dialects.kueue import CLUSTER_QUEUE, COHORT, ClusterQueue, KueueNode, ResourceQuota, flavor_resource
from policies.judging.rule import Proposal, rule
from policies.model.findings import Finding, remove, write
from policies.model.quantity import Quantity


def _lends_too_much(quota: str) -> str:
    lending, nominal = f"{quota}.lendingLimit", f"{quota}.nominalQuota"
    return (
        f"has({lending}) && has({nominal}) && {amount(lending)} && {amount(nominal)} "
        f"&& {quantity(lending)}.isGreaterThan({quantity(nominal)})"
    )


def _lending_excess(quota: str) -> str:
    return f"{quantity(f'{quota}.lendingLimit')}.sub({quantity(f'{quota}.nominalQuota')})"


_LENDS_TOO_MUCH = each_quota(f"""\
f.?resources.orValue([]).filter(q, {_lends_too_much("q")}
  && !{same_before(f"{_lends_too_much('p')} && !{_lending_excess('p')}.isLessThan({_lending_excess('q')})")}
).map(q, 'may lend ' + q.name + '=' + string(q.lendingLimit) + ' in flavor ' + f.name + ', its nominalQuota is '
  + string(q.nominalQuota)).join('; ')""")


@rule(
    "lending-exceeds-nominal",
    source="Kueue: webhook of ClusterQueue",
    kinds=(CLUSTER_QUEUE,),
    alone=True,
    cel=[Expression((CLUSTER_QUEUE,), _LENDS_TOO_MUCH, GROUPS)],
)
def lending_exceeds_nominal(proposal: Proposal) -> Iterator[Finding]:
    """A ClusterQueue may lend more than it has.

    Why it is refused: a ClusterQueue lends from its nominal quota, so the part of the limit above it has no effect. A
    Cohort is different: it also lends the quota of its children, so its lendingLimit may exceed its own nominal quota.
    Example: `nominalQuota: 4` and `lendingLimit: 6` for cpu.
    Fix: lower `lendingLimit` to the nominal quota (or remove it, which lends everything), or raise `nominalQuota`.
    """
    for _, queue in proposal.changed(ClusterQueue):
        for flavor, quota in queue.quotas():
            nominal, lending = quota.nominal, quota.lending_limit
            if nominal is not None and lending is not None and lending > nominal:
                yield Finding(
                    queue.ref,
                    quota.field("lendingLimit"),
                    f"may lend {quota.name}={lending.text} in flavor {flavor.name}, but its nominalQuota is "
                    f"{nominal.text}",
                    fix=f"lower lendingLimit to {nominal.text} or less, or raise nominalQuota to {lending.text}",
                    subject=flavor_resource(flavor.name, quota.name),
                    excess=(lending - nominal).nano,
                    patch=write(quota.field("lendingLimit"), nominal.value),
                )


_PARENT = ("cohortName", "cohort", "parentName", "parent")
"""All names of the parent's field in the versions of Cohort and ClusterQueue. No version has another use for them."""


def _parents(obj: str) -> str:
    return f"[{', '.join(f'''{obj}.?spec.?{name}.orValue('')''' for name in _PARENT)}].exists(name, name != '')"


def _useless(key: str) -> str:
    return f"""\
f.?resources.orValue([]).filter(q, has(q.{key}) && {amount(f"q.{key}")}
  && !(!variables.old_parent && {same_before(f"has(p.{key}) && {amount(f'p.{key}')}")})
).map(q, '{key} ' + string(q.{key}) + ' of ' + q.name + ' in flavor ' + f.name + ' has no effect without a parent'
).join('; ')"""


_USELESS = joined(_useless("borrowingLimit"), _useless("lendingLimit"))
_WITHOUT_PARENT = f"variables.parent ? '' : {each_quota(_USELESS)}"
_VARIABLES = (
    *GROUPS,
    ("parent", _parents("object")),
    ("old_parent", f"oldObject != null && {_parents('oldObject')}"),
)


@rule(
    "limit-without-parent",
    source="Kueue: webhooks of Cohort and ClusterQueue, CEL of ClusterQueue (borrowingLimit)",
    kinds=(COHORT, CLUSTER_QUEUE),
    alone=True,
    cel=[Expression((COHORT, CLUSTER_QUEUE), _WITHOUT_PARENT, _VARIABLES)],
)
def limit_without_parent(proposal: Proposal) -> Iterator[Finding]:
    """A Cohort or ClusterQueue limits borrowing or lending but has no parent to borrow from or lend to.

    Why it is refused: at the root of a tree neither limit has an effect. Usually the line that names the cohort is
    missing, so nothing is shared.
    Example: a ClusterQueue with `borrowingLimit: 4` for cpu and no `cohortName`.
    Fix: name the parent (ClusterQueue: `cohortName`, in v1beta1 `cohort`; Cohort: `parentName`, in v1alpha1 `parent`),
    or remove the limit.
    """
    for _, node in proposal.changed(KueueNode):
        if node.parent is None:
            for flavor, quota in node.quotas():
                for key, limit in (("borrowingLimit", quota.borrowing_limit), ("lendingLimit", quota.lending_limit)):
                    if limit is not None:
                        yield _finding(node, flavor.name, quota, key, limit)


def _finding(node: KueueNode, flavor: str, quota: ResourceQuota, key: str, limit: Quantity) -> Finding:
    return Finding(
        node.ref,
        quota.field(key),
        f"{key} {limit.text} of {quota.name} in flavor {flavor} has no effect: {node.parent_field} names no parent",
        fix=f"name the Cohort above in {node.parent_field}, or remove {key}",
        subject=flavor_resource(flavor, quota.name),
        follows=((node.ref, node.parent_field),),
        patch=remove(quota.field(key)),
    )
