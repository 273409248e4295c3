from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import CLUSTER_QUEUE, ClusterQueue, flavor_resource
from policies.model.proposal import Proposal
from policies.model.rule import Finding, rule


@rule("lending-exceeds-nominal", source="Kueue: webhook of ClusterQueue", kinds=(CLUSTER_QUEUE,), alone=True)
def lending_exceeds_nominal(proposal: Proposal) -> Iterator[Finding]:
    """A ClusterQueue may lend more than it has.

    Why it is refused: what a ClusterQueue lends is taken from its nominal quota, so the part above can never be lent.
    A Cohort is different: it lends what its children have too, so its lendingLimit may exceed its own nominal quota.
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
                    f"may lend {quota.name}={lending.text} in flavor {flavor.name}, its nominalQuota is {nominal.text}",
                    fix=f"lower lendingLimit to {nominal.text} or less, or raise nominalQuota to {lending.text}",
                    subject=flavor_resource(flavor.name, quota.name),
                    excess=(lending - nominal).nano,
                    patch=({"op": "replace", "path": quota.pointer("lendingLimit"), "value": nominal.text},),
                )
