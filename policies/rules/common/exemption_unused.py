from __future__ import annotations

from collections.abc import Iterator, Mapping

from policies.dialects import READERS
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import STRICT_ONLY, Action, Finding
from policies.model.objects import KubeObject, Ref
from policies.rules import find


@rule("exemption-unused", source="Quotree: exemptions", kinds=READERS, default=Action.WARN)
def exemption_unused(proposal: Proposal) -> Iterator[Finding]:
    """An exemption excuses nothing: the rule has no complaint about the object.

    Why it is told: it would excuse the next mistake, which nobody has agreed to.
    Example: a queue keeps its exemption from `depth-exceeded` after it has moved up.
    Fix: remove the annotation.
    """
    complaints = _complaints(proposal)
    for _, thing in proposal.changed(KubeObject):
        for exemption in thing.exemptions:
            about = complaints.get(exemption.rule)
            sound = exemption.excuses(exemption.rule, proposal.circumstances.now)
            if sound and about is not None and thing.ref not in about:
                yield Finding(
                    thing.ref,
                    exemption.field,
                    f"the exemption from {exemption.rule} excuses nothing: the rule has no complaint about this object",
                    fix="remove the annotation",
                    subject=exemption.rule,
                    profiles=STRICT_ONLY,
                )


def _complaints(proposal: Proposal) -> Mapping[str, frozenset[Ref]]:
    """The objects that each waivable rule complains about, of the rules that are named in an exemption; a rule that
    lacks facts is left out."""
    named = {exemption.rule for _, thing in proposal.changed(KubeObject) for exemption in thing.exemptions}
    complaints: dict[str, frozenset[Ref]] = {}
    for rule_id in sorted(named & proposal.configuration.waivable):
        results = list(find(rule_id).check(proposal))
        if all(isinstance(result, Finding) for result in results):
            complaints[rule_id] = frozenset(result.object for result in results if isinstance(result, Finding))
    return complaints
