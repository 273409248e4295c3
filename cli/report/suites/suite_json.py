"""The outcomes of suites as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cli.input.suites import Expected
from cli.report.as_json import API_VERSION, place_json
from cli.report.suites.suite_outcomes import SuiteOutcome
from policies.judging.sentence import sentence
from policies.judging.verdict import Judged


def suites_json(outcomes: Sequence[SuiteOutcome]) -> dict[str, Any]:
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
