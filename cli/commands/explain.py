"""`quotree explain`: the page of a rule."""

from __future__ import annotations

import click

from cli.exits import EPILOG, Misused
from cli.group import verbose
from cli.report.output import emit
from cli.report.rulebook import kinds_of
from policies.judging.rule import Rule
from policies.model.errors import UnknownRule
from policies.rules import find


@click.command(epilog=EPILOG)
@click.argument("rule")
@verbose
def explain(rule: str) -> None:
    """Print what RULE refuses, why, an example, and what to do."""
    try:
        found = find(rule)
    except UnknownRule as error:
        raise Misused(f"{error} (`quotree rules` lists them)") from error
    emit(_page(found))


def _page(rule: Rule) -> str:
    facts = [f"Source:  {rule.source}", f"Default: {rule.default.value}", f"Kinds:   {', '.join(kinds_of(rule))}"]
    return "\n".join([rule.id, "=" * len(rule.id), "", rule.page, "", *facts])
