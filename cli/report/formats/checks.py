"""Turns a report, or the outcomes of suites, into test cases that pass or fail, for JUnit and TAP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from analysis.report import Report, ReportEntry
from cli.report.reports import CLEAN, closing_line, details, head_line, where, without_fix
from cli.report.suite_outcomes import SuiteOutcome
from cli.report.suites import closing_line as suites_closing_line
from cli.report.suites import found_line, missing_line
from policies.model.printing import plain


class CaseState(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    BROKEN = "broken"
    """The case could not be judged."""


@dataclass(frozen=True, slots=True)
class ReportedCase:
    """A test case of JUnit or TAP.

    `group`: the rule or the suite.
    `name`: the same in every run.
    `place`: the file and line.
    `details`: further lines, such as causes and the fix.
    """

    group: str
    name: str
    state: CaseState
    severity: str = ""
    message: str = ""
    place: str = ""
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """The test cases of one run of a command. `lines`: the head line and the closing line of the text format."""

    command: str
    cases: Sequence[ReportedCase]
    lines: Sequence[str]


def of_report(report: Report) -> CheckedRun:
    return CheckedRun("quotree validate", _of_report(report), (head_line(report), closing_line(report)))


def of_suites(outcomes: Sequence[SuiteOutcome]) -> CheckedRun:
    return CheckedRun("quotree test", list(map(_of_outcome, outcomes)), (suites_closing_line(outcomes),))


def _of_report(report: Report) -> list[ReportedCase]:
    """A case for each finding, each rule that was not evaluated and each unreadable input.

    If there is none, the result is one case that passed or was skipped, since some readers reject an empty list.
    """
    checks = [
        *(_of_entry(entry, report) for entry in report.entries),
        *(
            ReportedCase(
                missed.rule.id,
                "not evaluated",
                CaseState.BROKEN if missed.error else CaseState.SKIPPED,
                "error" if missed.error else "",
                plain(missed.reason),
            )
            for missed in report.not_evaluated
        ),
        *(
            ReportedCase(
                "unreadable",
                plain(item.place.file),
                CaseState.BROKEN,
                "error",
                plain(item.message),
                plain(str(item.place)),
            )
            for item in report.unreadable
        ),
    ]
    if report.empty:
        return checks or [ReportedCase("quotree", "nothing was judged", CaseState.SKIPPED)]
    return checks or [ReportedCase("quotree", CLEAN, CaseState.PASSED)]


def _of_entry(entry: ReportEntry, report: Report) -> ReportedCase:
    judged = entry.judged
    return ReportedCase(
        judged.rule.id,
        plain(f"{judged.finding.object}: {judged.finding.field}"),
        CaseState.FAILED if judged.severity in report.failing else CaseState.PASSED,
        judged.severity.value,
        without_fix(judged),
        where(entry.place),
        tuple(details(entry)),
    )


def _of_outcome(outcome: SuiteOutcome) -> ReportedCase:
    return ReportedCase(
        plain(outcome.case.place.file),
        plain(outcome.case.name),
        CaseState.PASSED if outcome.holds else CaseState.FAILED,
        "" if outcome.holds else "error",
        "" if outcome.holds else "other findings than expected",
        plain(str(outcome.case.place)),
        (*map(missing_line, outcome.missing), *map(found_line, outcome.unexpected)),
    )
