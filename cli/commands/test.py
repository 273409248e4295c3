"""Run suites: changes, and the findings that your configuration must give for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import click

from cli.exits import Exit, Misused, strongest
from cli.input.options import output
from cli.input.suites import BadSuite, Case, Expected, files, read
from cli.output import emit, json_text, note, paint
from cli.report.as_json import place_json
from cli.report.suite_outcomes import Outcome, run
from policies.judging.sentence import sentence
from policies.judging.verdict import Judged
from policies.model.printing import plain

API_VERSION = "quotree.dev/v1alpha1"


@click.command()
@click.argument("suites", metavar="SUITE...", nargs=-1, required=True)
@output
@click.option("--run", "pattern", metavar="REGEX", help="Run only the cases whose name matches.")
@click.option(
    "--config",
    metavar="FILE",
    help="Quotree's configuration. Default: QUOTREE_CONFIG, then .quotree.yaml upward from each suite.",
)
def test(suites: tuple[str, ...], output: str, pattern: str | None, config: str | None) -> None:
    """Run the cases in SUITE... (files, and folders with all files below them). Exits with 0 if all hold, else 1."""
    wanted = _pattern(pattern)
    cases, unreadable = _read(suites, config)
    for bad in unreadable:
        note(f"{bad.place}: unreadable: {bad.message}")
    matching = [case for case in cases if wanted.search(case.name)]
    if not matching and not unreadable:
        where = f" whose name matches {pattern!r}" if pattern else ""
        raise Misused(f"nothing to run: no case{where} in {', '.join(suites)}")
    outcomes = [run(case) for case in matching]
    emit(_as_json(outcomes) if output == "json" else _as_text(outcomes))
    click.get_current_context().exit(strongest(_codes(outcomes, unreadable)))


def _pattern(text: str | None) -> re.Pattern[str]:
    try:
        return re.compile(text or "")
    except re.error as error:
        raise Misused(f"--run {text!r} is not a regular expression: {error}") from error


def _read(suites: tuple[str, ...], config: str | None) -> tuple[list[Case], list[BadSuite]]:
    """The cases of all readable suites, and what is wrong with the others."""
    cases: list[Case] = []
    unreadable: list[BadSuite] = []
    for file in dict.fromkeys(files(suites)):
        try:
            cases += read(file, config)
        except BadSuite as bad:
            unreadable.append(bad)
    return cases, unreadable


def _codes(outcomes: list[Outcome], unreadable: list[BadSuite]) -> Iterator[Exit]:
    if unreadable:
        yield Exit.UNREADABLE
    if not all(outcome.holds for outcome in outcomes):
        yield Exit.FINDINGS


def _as_text(outcomes: list[Outcome]) -> str:
    return "\n".join([*(line for outcome in outcomes for line in _lines(outcome)), _closing(outcomes)])


def _lines(outcome: Outcome) -> Iterator[str]:
    word = paint("ok", "green") if outcome.holds else paint("FAILED", "red")
    yield f"{plain(str(outcome.case.place))}: {word}: {plain(outcome.case.name)}"
    for expected in outcome.missing:
        yield plain(f"    expected, not found: {_wanted(expected)}")
    for judged in outcome.unexpected:
        yield f"    found, not expected: {judged.severity.value}[{judged.rule.id}]: {sentence(judged)}"


def _wanted(expected: Expected) -> str:
    details = [expected.object, expected.field, f"says {expected.says!r}" if expected.says else ""]
    text = ", ".join(filter(None, details))
    return f"{expected.severity.value}[{expected.rule}]" + (f": {text}" if text else "")


def _closing(outcomes: list[Outcome]) -> str:
    held = sum(outcome.holds for outcome in outcomes)
    return f"{held} of {len(outcomes)} case{'' if len(outcomes) == 1 else 's'} hold{'s' if len(outcomes) == 1 else ''}"


def _as_json(outcomes: list[Outcome]) -> str:
    failed = sum(not outcome.holds for outcome in outcomes)
    answer = {
        "apiVersion": API_VERSION,
        "kind": "SuiteReport",
        "summary": {"cases": len(outcomes), "failed": failed},
        "cases": [_case(outcome) for outcome in outcomes],
    }
    return json_text(answer)


def _case(outcome: Outcome) -> dict[str, Any]:
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
