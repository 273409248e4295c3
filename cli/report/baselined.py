"""Removes the findings of a baseline from a report. An entry that is no longer found is itself reported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from analysis.documents import SourcePlace
from analysis.report import Report, ReportEntry, identity, in_order
from cli.input import baseline as baselines
from cli.input.baseline import Baseline, OldFinding
from policies.judging.rule import Proposal, Rule
from policies.judging.verdict import Judged
from policies.model.findings import Action, Finding, Severity


def _page(_: Proposal) -> Iterator[Finding]:
    """An entry of the baseline finds nothing any more.

    Why it is refused: the same fault could come back under it, and nobody would notice.
    Fix: remove the entry, by `quotree baseline prune`.
    """
    return iter(())


STALE = Rule("stale-baseline-entry", "Quotree", frozenset(), Action.DENY, _page)
"""The rule of stale entries. It is not in the registry, since only `validate` has a baseline."""


def without_old(report: Report, baseline: Baseline, proposals: Sequence[Proposal]) -> Report:
    """The report without the findings of the baseline, which are counted, and with the stale entries as findings.

    `proposals`: one for each root. A new finding that was listed under an old one is listed separately.
    """
    found, known = baselines.of(entry.judged for entry in report.every), baseline.known
    new = {id(entry) for entry, one in zip(report.every, found, strict=True) if one.fingerprint not in known}
    old = [entry for entry in report.entries if id(entry) not in new]
    fresh = [entry for entry in report.entries if id(entry) in new]
    fresh += [each for entry in old for each in entry.consequences if id(each) in new]
    places = baseline.places()
    gone = [_finding(entry, places[entry], proposals[0]) for entry in stale(baseline, report, proposals)]
    return replace(report, entries=in_order((*gone, *fresh)), baselined=len(old))


def stale(baseline: Baseline, report: Report, proposals: Sequence[Proposal]) -> list[OldFinding]:
    """The entries of the baseline that are no longer found, because their object was fixed or removed.

    There are none while an input is unreadable. Entries of rules that were not evaluated are left out. With --base,
    only changed objects are judged, so entries for other objects are left out too.
    """
    if report.unreadable:
        return []
    found = {entry.fingerprint for entry in baselines.of(entry.judged for entry in report.every)}
    missed = {each.rule.id for each in report.not_evaluated}
    changed = {change.ref for proposal in proposals for change in proposal.changes}

    def judged(entry: OldFinding) -> bool:
        whole = report.subject.base is None and not any(proposal.after.get(entry.object) for proposal in proposals)
        return entry.object in changed or whole

    left = [each for each in baseline.entries if each.fingerprint not in found and each.rule not in missed]
    return [entry for entry in left if judged(entry)]


def _finding(entry: OldFinding, place: SourcePlace, proposal: Proposal) -> ReportEntry:
    message = f"has {entry.rule} in the baseline, and no longer in the inputs"
    finding = Finding(entry.object, entry.field, message, "run `quotree baseline prune`", entry.fingerprint)
    return ReportEntry(Judged(STALE, Severity.ERROR, finding), identity(entry.object, proposal), place, ())
