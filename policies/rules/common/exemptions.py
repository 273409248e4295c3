"""The rules about exemptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from policies.dialects import READERS
from policies.judging.rule import Proposal, rule
from policies.model.change import Occasion
from policies.model.errors import UnknownRule
from policies.model.exemptions import EXAMPLE, Exemption
from policies.model.findings import STRICT_ONLY, Action, Finding
from policies.model.objects import KubeObject, Ref
from policies.rules import find

_MOST = 20  # the most flaws of one object that are reported; an object could have ten thousand exemptions


@rule("exemption-invalid", source="Quotree: exemptions", kinds=READERS, only=Occasion.EXEMPTION)
def exemption_invalid(proposal: Proposal) -> Iterator[Finding]:
    """An exemption names a rule that cannot be waived, or cannot be read.

    Why it is refused: it excuses nothing, though its author relies on it. An exemption names a rule, a reason and a
    last day, and works only for the rules that the configuration lists under `exemptions.waivable`.
    Example: `ignore.quotree.dev/parent-cicle: "because"`.
    Fix: `ignore.quotree.dev/<rule-id>: "reason; until=YYYY-MM-DD; ref=..."`, where `ref` is optional.
    """
    for _, obj in proposal.changed(KubeObject):
        yield from islice(_flawed(proposal, obj), _MOST)


def _flawed(proposal: Proposal, obj: KubeObject) -> Iterator[Finding]:
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
    """The objects that each waivable rule reports, for rules that an exemption names and that could be evaluated."""
    named = {exemption.rule for _, obj in proposal.changed(KubeObject) for exemption in obj.exemptions}
    reported: dict[str, frozenset[Ref]] = {}
    for rule_id in sorted(named & proposal.configuration.waivable):
        results = list(find(rule_id).check(proposal))
        if all(isinstance(result, Finding) for result in results):
            reported[rule_id] = frozenset(result.object for result in results if isinstance(result, Finding))
    return reported
