"""Run test suites: changes, and the findings that they must have with your configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from cli.exits import Exit, Misused, exit_codes, strongest
from cli.input.outputs import Output, outputs
from cli.input.suites import BadSuite, SuiteCase, files, read
from cli.output import note
from cli.report.formats import OF_SUITES, deliver
from cli.report.suite_outcomes import SuiteOutcome, run


@click.command(epilog=exit_codes("a case failed"))
@click.argument("suites", metavar="SUITE...", nargs=-1, required=True)
@outputs(tuple(OF_SUITES))
@click.option("--run", "pattern", metavar="REGEX", help="Run only the cases whose name matches.")
@click.option(
    "--config",
    metavar="FILE",
    help="Quotree's configuration. Default: QUOTREE_CONFIG, then .quotree.yaml or quotree.yaml upward from each suite.",
)
def test(suites: tuple[str, ...], outputs: tuple[Output, ...], pattern: str | None, config: str | None) -> None:
    """Run the cases in SUITE... (files, and folders with all files below them). Exits with 0 if all hold, else 1.

    \b
    Examples:
      quotree test suites/ --run sandbox
      quotree test suites/ -o text -o junit=suites.xml
    """
    wanted = _pattern(pattern)
    cases, unreadable = _read(suites, config)
    for bad in unreadable:
        note(f"{bad.place}: unreadable: {bad.message}")
    matching = [case for case in cases if wanted.search(case.name)]
    if not matching and not unreadable:
        where = f" whose name matches {pattern!r}" if pattern else ""
        raise Misused(f"nothing to run: no case{where} in {', '.join(suites)}")
    outcomes = [run(case) for case in matching]
    deliver(outputs, OF_SUITES, outcomes)
    click.get_current_context().exit(strongest(_codes(outcomes, unreadable)))


def _pattern(text: str | None) -> re.Pattern[str]:
    try:
        return re.compile(text or "")
    except re.error as error:
        raise Misused(f"--run {text!r} is not a regular expression: {error}") from error


def _read(suites: tuple[str, ...], config: str | None) -> tuple[list[SuiteCase], list[BadSuite]]:
    cases: list[SuiteCase] = []
    unreadable: list[BadSuite] = []
    for file in files(suites):
        try:
            cases += read(file, config)
        except BadSuite as bad:
            unreadable.append(bad)
    return cases, unreadable


def _codes(outcomes: list[SuiteOutcome], unreadable: list[BadSuite]) -> Iterator[Exit]:
    if unreadable:
        yield Exit.UNREADABLE
    if not all(outcome.holds for outcome in outcomes):
        yield Exit.FINDINGS
