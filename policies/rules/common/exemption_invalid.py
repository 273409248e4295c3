from __future__ import annotations

from collections.abc import Iterator

from policies.dialects import READERS
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.change import Occasion
from policies.model.errors import UnknownRule
from policies.model.exemptions import EXAMPLE, Exemption
from policies.model.findings import STRICT_ONLY, Finding
from policies.model.objects import KubeObject
from policies.rules import find


@rule("exemption-invalid", source="Quotree: exemptions", kinds=READERS, only=Occasion.EXEMPTION)
def exemption_invalid(proposal: Proposal) -> Iterator[Finding]:
    """An exemption names a rule that cannot be waived, or cannot be read.

    Why it is refused: it excuses nothing, though its author relies on it. An exemption names a rule, a reason and a
    last day, and works only for the rules that the configuration lists under `exemptions.waivable`.
    Example: `ignore.quotree.dev/parent-cicle: "because"`.
    Fix: `ignore.quotree.dev/<rule-id>: "reason; until=YYYY-MM-DD; ref=..."`, where `ref` is optional.
    """
    for _, obj in proposal.changed(KubeObject):
        for exemption in obj.exemptions:
            message, fix = _flaw(proposal, exemption)
            if message:
                yield Finding(obj.ref, exemption.field, message, fix=fix, subject=exemption.rule, profiles=STRICT_ONLY)


def _flaw(proposal: Proposal, exemption: Exemption) -> tuple[str, str]:
    """The fault and the fix; both are empty if the exemption is valid."""
    try:
        find(exemption.rule)
    except UnknownRule as error:
        return f"the exemption excuses nothing: {error}", "correct the name of the rule, or remove the annotation"
    if exemption.rule not in proposal.configuration.waivable:
        waivable = ", ".join(sorted(proposal.configuration.waivable)) or "none"
        return (
            f"the rule {exemption.rule} cannot be waived here; those that can: {waivable}",
            "remove the annotation, or ask the owner of the configuration to list the rule",
        )
    if exemption.flaw:
        return f"the exemption cannot be read: {exemption.flaw}", f"write it as in {EXAMPLE}"
    return "", ""
