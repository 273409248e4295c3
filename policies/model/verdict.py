"""Judging a proposal: every finding of every rule, and whether the change may pass."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from policies.model.exemptions import Exemption
from policies.model.proposal import Proposal
from policies.model.rule import (
    SEVERITY,
    Action,
    Finding,
    NotEvaluated,
    Profile,
    Rule,
    Severity,
    registry,
)

_INDEX = re.compile(r"\[\d+\]")
_WORST_FIRST = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Judged:
    """A finding with the rule that made it and what it means for the change.

    `standing`: it was there before, no less than now, so it does not refuse the change. `exemption` is what excuses it.
    """

    rule: Rule
    severity: Severity
    finding: Finding
    standing: bool = False
    exemption: Exemption | None = None

    @property
    def rank(self) -> tuple[object, ...]:
        return (
            _WORST_FIRST[self.severity],
            self.finding.object,
            self.rule.id,
            self.finding.field,
            self.finding.subject,
        )


@dataclass(frozen=True, slots=True)
class Unjudged:
    rule: Rule
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """`findings` are worst first and in a stable order; `not_evaluated` are rules that lacked their facts."""

    findings: tuple[Judged, ...] = ()
    not_evaluated: tuple[Unjudged, ...] = ()

    def of(self, severity: Severity) -> tuple[Judged, ...]:
        return tuple(judged for judged in self.findings if judged.severity is severity)

    @property
    def allowed(self) -> bool:
        return not self.of(Severity.ERROR)


def evaluate(proposal: Proposal) -> Verdict:
    """All findings of all rules about this proposal."""
    kinds = proposal.kinds()
    findings: list[Judged] = []
    unjudged: list[Unjudged] = []
    for rule in registry().values():
        if kinds & rule.kinds and not proposal.configuration.silences(rule):
            found, missed = _judge(rule, proposal)
            findings += found
            unjudged += missed
    return Verdict(tuple(sorted(findings, key=lambda judged: judged.rank)), tuple(unjudged))


def _judge(rule: Rule, proposal: Proposal) -> tuple[list[Judged], list[Unjudged]]:
    found: dict[object, Judged] = {}
    missed: dict[str, Unjudged] = {}
    for result in rule.check(proposal):
        if isinstance(result, NotEvaluated):
            missed.setdefault(result.reason, Unjudged(rule, result.reason))
        elif (finding := _judged(rule, result, proposal)) is not None:
            first = found.setdefault(result.identity, finding)
            if _WORST_FIRST[finding.severity] < _WORST_FIRST[first.severity]:
                found[result.identity] = finding
    judged = list(found.values())
    if proposal.configuration.profile is Profile.STRICT and any(j.severity is Severity.ERROR for j in judged):
        judged = _spare(judged, rule.check(proposal.standing()))
    return [_excused(j, proposal) if j.severity is Severity.ERROR else j for j in judged], list(missed.values())


def _judged(rule: Rule, finding: Finding, proposal: Proposal) -> Judged | None:
    configuration = proposal.configuration
    ruling = configuration.ruling(rule, finding, proposal.circumstances.now, proposal.after, proposal.before)
    if ruling.action is Action.OFF:
        return None
    if configuration.profile not in finding.profiles:
        return Judged(rule, Severity.INFO, _told_only(finding))
    if ruling.since is not None:
        finding = replace(finding, message=f"from {ruling.since} on this is refused: {finding.message}")
    return Judged(rule, SEVERITY[ruling.action], finding)


def _told_only(finding: Finding) -> Finding:
    """What the other profile minds: told, so that nobody meets it unprepared, and nothing more."""
    if Profile.STRICT in finding.profiles:
        return finding
    return replace(finding, message=f"{finding.message} (allowed here; the project's own webhook refuses it)")


def _excused(judged: Judged, proposal: Proposal) -> Judged:
    """A warning that names reason and last day, where the object is exempt and the rule obeys that."""
    if judged.rule.id not in proposal.configuration.waivable:
        return judged
    thing = proposal.after.get(judged.finding.object) or proposal.before.get(judged.finding.object)
    for exemption in thing.exemptions if thing else ():
        if exemption.excuses(judged.rule.id, proposal.circumstances.now):
            message = f"exempt until {exemption.until} ({exemption.reason}): {judged.finding.message}"
            finding = replace(judged.finding, message=message)
            return Judged(judged.rule, Severity.WARNING, finding, exemption=exemption)
    return judged


def _spare(judged: list[Judged], before: Iterable[Finding | NotEvaluated]) -> list[Judged]:
    """A violation that was there before, and no smaller, is warned of but refuses nothing: repairs come in steps."""
    stood: dict[object, list[int]] = {}
    for finding in before:
        if isinstance(finding, Finding):
            stood.setdefault(_lasting(finding), []).append(finding.excess)
    return [_standing(j, stood.get(_lasting(j.finding), [])) if j.severity is Severity.ERROR else j for j in judged]


def _standing(judged: Judged, stood: list[int]) -> Judged:
    """Warned of if one of the old violations was no smaller; that one is used up, so that a second is not excused."""
    covering = [excess for excess in stood if excess >= judged.finding.excess]
    if not covering:
        return judged
    stood.remove(min(covering))
    return Judged(judged.rule, Severity.WARNING, judged.finding, standing=True)


def _lasting(finding: Finding) -> tuple[object, ...]:
    """The identity without list indices: an entry put in front of an old fault does not make that a new one."""
    return finding.object, _INDEX.sub("[]", finding.field), finding.subject
