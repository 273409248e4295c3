"""Explain a rule: what it refuses, why, and what to do."""

from __future__ import annotations

import click

from cli.exits import Misused
from cli.output import emit
from cli.report.rulebook import kinds_of
from policies.judging.rule import Rule
from policies.model.errors import UnknownRule
from policies.rules import find


@click.command()
@click.argument("rule")
def explain(rule: str) -> None:
    """Explain RULE: what it refuses, why, an example, and what to do."""
    try:
        found = find(rule)
    except UnknownRule as error:
        raise Misused(f"{error} (`quotree rules` lists them)") from error
    emit(_page(found))


def _page(rule: Rule) -> str:
    facts = [f"Source:  {rule.source}", f"Default: {rule.default.value}", f"Kinds:   {', '.join(kinds_of(rule))}"]
    return "\n".join([rule.id, "=" * len(rule.id), "", rule.page, "", *facts])
