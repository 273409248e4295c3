from __future__ import annotations

from collections.abc import Iterator

from policies.dialects import READERS
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.change import Occasion
from policies.model.findings import STRICT_ONLY, Action, Finding
from policies.model.objects import KubeObject


@rule("exemption-expired", source="Quotree: exemptions", kinds=READERS, default=Action.WARN, only=Occasion.EXEMPTION)
def exemption_expired(proposal: Proposal) -> Iterator[Finding]:
    """The last day of an exemption has passed.

    Why it is reported: from the next day on the rule applies again. The day is in UTC and counts to its end.
    Example: `ignore.quotree.dev/depth-exceeded: "migration; until=2026-06-30"`, judged on 1 July 2026.
    Fix: correct what the rule reports and remove the annotation, or agree on a new date.
    """
    now = proposal.circumstances.now
    for _, obj in proposal.changed(KubeObject):
        for exemption in obj.exemptions:
            if exemption.expired(now):
                yield Finding(
                    obj.ref,
                    exemption.field,
                    f"the exemption from {exemption.rule} ended on {exemption.until} ({exemption.reason})",
                    fix="correct what it excused and remove the annotation, or agree on a new date",
                    subject=exemption.rule,
                    profiles=STRICT_ONLY,
                )
