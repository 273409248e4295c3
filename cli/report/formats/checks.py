"""A report, or the outcomes of suites, as a list of checks that pass or fail: what JUnit and TAP know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from cli.report.as_text import CLEAN, where, without_fix
from cli.report.formats.wording import details
from cli.report.model import Entry, Report
from cli.report.suites.suite_outcomes import Outcome
from cli.report.suites.suite_text import found_line, missing_line
from policies.model.printing import plain


class State(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    BROKEN = "broken"
    """It could not be judged."""


@dataclass(frozen=True, slots=True)
class Check:
    """`group` is the rule or the suite; `name` stays the same from run to run; `details` are lines."""

    group: str
    name: str
    state: State
    severity: str = ""
    message: str = ""
    place: str = ""
    details: tuple[str, ...] = ()


def of_report(report: Report) -> list[Check]:
    """Each finding, each rule that was not evaluated and all that was unreadable; at least one, as readers expect."""
    checks = [
        *(_of_entry(entry, report) for entry in report.entries),
        *(
            Check(missed.rule.id, "not evaluated", State.SKIPPED, message=plain(missed.reason))
            for missed in report.not_evaluated
        ),
        *(
            Check(
                "unreadable", plain(item.place.file), State.BROKEN, "error", plain(item.message), plain(str(item.place))
            )
            for item in report.unreadable
        ),
    ]
    if report.empty:
        return checks or [Check("quotree", "nothing was judged", State.SKIPPED)]
    return checks or [Check("quotree", CLEAN, State.PASSED)]


def _of_entry(entry: Entry, report: Report) -> Check:
    judged = entry.judged
    return Check(
        judged.rule.id,
        plain(f"{judged.finding.object}: {judged.finding.field}"),
        State.FAILED if judged.severity in report.failing else State.PASSED,
        judged.severity.value,
        without_fix(judged),
        where(entry.place),
        tuple(details(entry)),
    )


def of_suites(outcomes: Iterable[Outcome]) -> list[Check]:
    return [
        Check(
            plain(outcome.case.place.file),
            plain(outcome.case.name),
            State.PASSED if outcome.holds else State.FAILED,
            "" if outcome.holds else "error",
            "" if outcome.holds else "other findings than expected",
            plain(str(outcome.case.place)),
            tuple(_differences(outcome)),
        )
        for outcome in outcomes
    ]


def _differences(outcome: Outcome) -> Iterator[str]:
    yield from map(missing_line, outcome.missing)
    yield from map(found_line, outcome.unexpected)
