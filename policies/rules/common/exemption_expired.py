from __future__ import annotations

from collections.abc import Iterator

from policies.dialects import READERS
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import STRICT_ONLY, Action, Finding
from policies.model.objects import KubeObject


@rule("exemption-expired", source="Quotree: exemptions", kinds=READERS, default=Action.WARN)
def exemption_expired(proposal: Proposal) -> Iterator[Finding]:
    """The last day of an exemption has passed.

    Why it is told: from then on the rule refuses again what it excused. The day is one in UTC, and counts to its end.
    Example: `ignore.quotree.dev/depth-exceeded: "moving house; until=2026-06-30"`, on the first of July.
    Fix: repair what the rule complains about and remove the annotation, or agree on a new day.
    """
    now = proposal.circumstances.now
    for _, thing in proposal.changed(KubeObject):
        for exemption in thing.exemptions:
            if exemption.expired(now):
                yield Finding(
                    thing.ref,
                    exemption.field,
                    f"the exemption from {exemption.rule} ended on {exemption.until} ({exemption.reason})",
                    fix="repair what it excused and remove the annotation, or agree on a new day",
                    subject=exemption.rule,
                    profiles=STRICT_ONLY,
                )
