from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.volcano import JOB, POD_GROUP, VolcanoJob, WrittenPodGroup
from policies.judging.rule import Proposal, rule
from policies.model.findings import BOTH, STRICT_ONLY, Finding
from policies.model.objects import KubeObject


@rule(
    "topology-tier-contradiction",
    source="Volcano's webhooks podgroups/validate and jobs/validate: networkTopology",
    kinds=(JOB, POD_GROUP),
)
def topology_tier_contradiction(proposal: Proposal) -> Iterator[Finding]:
    """A network topology of a PodGroup or a Volcano Job names its highest tier twice: by number and by name.

    Why it is refused: the two may mean different tiers, and it is undefined which one counts.
    Example: `networkTopology: {highestTierAllowed: 1, highestTierName: rack}`.
    Fix: keep one of the two.
    """
    for before, work in proposal.changed(KubeObject):
        if isinstance(work, (WrittenPodGroup, VolcanoJob)):
            for field in work.two_tiers:
                yield Finding(
                    work.ref,
                    field,
                    "highestTierAllowed and highestTierName are both set",
                    fix="keep one of the two",
                    profiles=BOTH if before is None else STRICT_ONLY,
                )
