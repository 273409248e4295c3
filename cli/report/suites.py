"""Renders the outcomes of test suites as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cli.input.suites import Expected
from cli.output import paint
from cli.report.reports import API_VERSION, place_json
from cli.report.suite_outcomes import SuiteOutcome
from policies.judging.sentence import sentence
from policies.judging.verdict import Judged
from policies.model.printing import plain


def as_text(outcomes: Sequence[SuiteOutcome]) -> str:
    return "\n".join([*(line for outcome in outcomes for line in _lines(outcome)), closing_line(outcomes)])


def _lines(outcome: SuiteOutcome) -> Iterator[str]:
    word = paint("ok", "green") if outcome.holds else paint("FAILED", "red")
    yield f"{plain(str(outcome.case.place))}: {word}: {plain(outcome.case.name)}"
    yield from (f"    {missing_line(expected)}" for expected in outcome.missing)
    yield from (f"    {found_line(judged)}" for judged in outcome.unexpected)


def missing_line(expected: Expected) -> str:
    details = [expected.object, expected.field, f"says {expected.says!r}" if expected.says else ""]
    text = ", ".join(filter(None, details))
    return plain(f"expected, not found: {expected.severity.value}[{expected.rule}]" + (f": {text}" if text else ""))


def found_line(judged: Judged) -> str:
    return f"found, not expected: {judged.severity.value}[{judged.rule.id}]: {sentence(judged)}"


def closing_line(outcomes: Sequence[SuiteOutcome]) -> str:
    held = sum(outcome.holds for outcome in outcomes)
    return f"{held} of {len(outcomes)} case{'' if len(outcomes) == 1 else 's'} hold{'s' if len(outcomes) == 1 else ''}"


def as_json(outcomes: Sequence[SuiteOutcome]) -> dict[str, Any]:
    failed = sum(not outcome.holds for outcome in outcomes)
    return {
        "apiVersion": API_VERSION,
        "kind": "SuiteReport",
        "summary": {"cases": len(outcomes), "failed": failed},
        "cases": [_case(outcome) for outcome in outcomes],
    }


def _case(outcome: SuiteOutcome) -> dict[str, Any]:
    return {
        "name": outcome.case.name,
        **place_json(outcome.case.place),
        "holds": outcome.holds,
        "missing": [_expectation(expected) for expected in outcome.missing],
        "unexpected": [_finding(judged) for judged in outcome.unexpected],
    }


def _expectation(expected: Expected) -> dict[str, str]:
    fields = {
        "rule": expected.rule,
        "severity": expected.severity.value,
        "object": expected.object,
        "field": expected.field,
        "says": expected.says,
    }
    return {key: value for key, value in fields.items() if value}


def _finding(judged: Judged) -> dict[str, str]:
    return {
        "rule": judged.rule.id,
        "severity": judged.severity.value,
        "object": str(judged.finding.object),
        "field": judged.finding.field,
        "message": sentence(judged),
    }
