from __future__ import annotations

from collections.abc import Iterator

from policies.cel.expression import Expression, amount, quantity
from policies.cel.kueue import GROUPS, each_quota, same_before
from policies.dialects.kueue import CLUSTER_QUEUE, ClusterQueue, flavor_resource
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import Finding


def _lends_too_much(quota: str) -> str:
    lending, nominal = f"{quota}.lendingLimit", f"{quota}.nominalQuota"
    return (
        f"has({lending}) && has({nominal}) && {amount(lending)} && {amount(nominal)} "
        f"&& {quantity(lending)}.isGreaterThan({quantity(nominal)})"
    )


def _lending_excess(quota: str) -> str:
    return f"{quantity(f'{quota}.lendingLimit')}.sub({quantity(f'{quota}.nominalQuota')})"


_CEL = each_quota(f"""\
f.?resources.orValue([]).filter(q, {_lends_too_much("q")}
  && !{same_before(f"{_lends_too_much('p')} && !{_lending_excess('p')}.isLessThan({_lending_excess('q')})")}
).map(q, 'may lend ' + q.name + '=' + string(q.lendingLimit) + ' in flavor ' + f.name + ', its nominalQuota is '
  + string(q.nominalQuota)).join('; ')""")


@rule(
    "lending-exceeds-nominal",
    source="Kueue: webhook of ClusterQueue",
    kinds=(CLUSTER_QUEUE,),
    alone=True,
    cel=[Expression((CLUSTER_QUEUE,), _CEL, GROUPS)],
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
                    patch=({"op": "replace", "path": quota.pointer("lendingLimit"), "value": nominal.value},),
                )
