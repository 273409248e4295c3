"""Decides which findings of a rule about a proposal refuse, warn or inform."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from policies.judging.rule import Proposal, Rule
from policies.judging.ruling import ruling
from policies.judging.verdict import Judged, Unjudged
from policies.model.findings import SEVERITY, Action, Finding, NotEvaluated, Profile, Severity


def findings(
    rule: Rule, proposal: Proposal, results: Iterable[Finding | NotEvaluated]
) -> tuple[list[Judged], list[Unjudged]]:
    """The findings of one rule, and what it could not judge. `results`: those of its check."""
    found: dict[object, Judged] = {}
    missed: dict[str, Unjudged] = {}
    for result in results:
        if isinstance(result, NotEvaluated):
            missed.setdefault(result.reason, Unjudged(rule, result.reason))
        elif (finding := _judged(rule, result, proposal)) is not None:
            first = found.setdefault(result.identity, finding)
            if finding.severity.rank < first.severity.rank:
                found[result.identity] = finding
    judged = list(found.values())
    spares = proposal.configuration.profile is Profile.STRICT and not proposal.stored
    if spares and any(j.severity is Severity.ERROR for j in judged):
        judged = _spare_old_violations(judged, rule.check(proposal.before_the_change()))
    return [_excused(j, proposal) if j.severity is Severity.ERROR else j for j in judged], list(missed.values())


def _judged(rule: Rule, finding: Finding, proposal: Proposal) -> Judged | None:
    configuration = proposal.configuration
    ruled = ruling(rule, finding, configuration, proposal.circumstances.now, proposal.after, proposal.before)
    if ruled.action is Action.OFF:
        return None
    if configuration.profile not in finding.profiles:
        return Judged(rule, Severity.INFO, _information(finding))
    if ruled.since is not None:
        finding = replace(finding, message=f"from {ruled.since} on this is refused: {finding.message}")
    return Judged(rule, SEVERITY[ruled.action], finding)


def _information(finding: Finding) -> Finding:
    """The finding as information, since it counts only in the other profile."""
    if Profile.STRICT in finding.profiles:
        return finding
    return replace(finding, message=f"{finding.message} (allowed here; the project's own webhook refuses it)")


def _excused(judged: Judged, proposal: Proposal) -> Judged:
    """The finding. If the object is exempt and the rule can be waived, a warning with the reason and the last day."""
    if judged.rule.id not in proposal.configuration.waivable:
        return judged
    obj = proposal.after.get(judged.finding.object) or proposal.before.get(judged.finding.object)
    for exemption in obj.exemptions if obj else ():
        if exemption.excuses(judged.rule.id, proposal.circumstances.now):
            message = f"exempt until {exemption.until} ({exemption.reason}): {judged.finding.message}"
            finding = replace(judged.finding, message=message)
            return Judged(judged.rule, Severity.WARNING, finding, exemption=exemption)
    return judged


def _spare_old_violations(judged: list[Judged], before: Iterable[Finding | NotEvaluated]) -> list[Judged]:
    """Turn violations that existed before in at least the same size into warnings: a tree can be fixed in steps."""
    old_excesses: dict[object, list[int]] = {}
    for finding in before:
        if isinstance(finding, Finding):
            old_excesses.setdefault(finding.lasting, []).append(finding.excess)
    return [
        _as_preexisting(j, old_excesses.get(j.finding.lasting, [])) if j.severity is Severity.ERROR else j
        for j in judged
    ]


def _as_preexisting(judged: Judged, old_excesses: list[int]) -> Judged:
    """The violation as a warning if an old one had at least the same size. Each old one counts for one new one."""
    covering = [excess for excess in old_excesses if excess >= judged.finding.excess]
    if not covering:
        return judged
    old_excesses.remove(min(covering))
    return Judged(judged.rule, Severity.WARNING, judged.finding, preexisting=True)
