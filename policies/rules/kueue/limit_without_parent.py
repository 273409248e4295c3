from __future__ import annotations

from collections.abc import Iterator

from policies.cel.expression import Expression, amount, joined
from policies.cel.kueue import GROUPS, each_quota, same_before
from policies.dialects.kueue import CLUSTER_QUEUE, COHORT, KueueNode, ResourceQuota, flavor_resource
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import Finding
from policies.model.quantity import Quantity

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
_CEL = f"variables.parent ? '' : {each_quota(_USELESS)}"
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
    cel=[Expression((COHORT, CLUSTER_QUEUE), _CEL, _VARIABLES)],
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
        patch=({"op": "remove", "path": quota.pointer(key)},),
    )
