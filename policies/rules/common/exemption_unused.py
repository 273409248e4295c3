from __future__ import annotations

from collections.abc import Iterator, Mapping

from policies.dialects import READERS
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.change import Occasion
from policies.model.findings import STRICT_ONLY, Action, Finding
from policies.model.objects import KubeObject, Ref
from policies.rules import find


@rule("exemption-unused", source="Quotree: exemptions", kinds=READERS, default=Action.WARN, only=Occasion.EXEMPTION)
def exemption_unused(proposal: Proposal) -> Iterator[Finding]:
    """An exemption excuses nothing: the rule does not report the object.

    Why it is reported: it would excuse the next mistake, which nobody has agreed to.
    Example: a queue keeps its exemption from `depth-exceeded` after it has moved up.
    Fix: remove the annotation.
    """
    reported = _reported(proposal)
    for _, obj in proposal.changed(KubeObject):
        for exemption in obj.exemptions:
            objects = reported.get(exemption.rule)
            valid = exemption.excuses(exemption.rule, proposal.circumstances.now)
            if valid and objects is not None and obj.ref not in objects:
                yield Finding(
                    obj.ref,
                    exemption.field,
                    f"the exemption from {exemption.rule} excuses nothing: the rule does not report this object",
                    fix="remove the annotation",
                    subject=exemption.rule,
                    profiles=STRICT_ONLY,
                )


def _reported(proposal: Proposal) -> Mapping[str, frozenset[Ref]]:
    """The objects that each waivable rule reports, for rules that an exemption names. A rule that could not be
    evaluated is left out."""
    named = {exemption.rule for _, obj in proposal.changed(KubeObject) for exemption in obj.exemptions}
    reported: dict[str, frozenset[Ref]] = {}
    for rule_id in sorted(named & proposal.configuration.waivable):
        results = list(find(rule_id).check(proposal))
        if all(isinstance(result, Finding) for result in results):
            reported[rule_id] = frozenset(result.object for result in results if isinstance(result, Finding))
    return reported
