"""Explain a rule: what it refuses, why, and what to do."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from analysis.repeated import GIVEN_TWICE
from cli.exits import EXIT_CODES_OF_ACTIONS, Misused
from cli.output import emit
from cli.report.baselined import STALE
from cli.report.rulebook import by_id, kinds_of
from policies.judging.rule import Rule
from policies.model.errors import UnknownRule
from policies.rules import find

_OF_INPUTS = {rule.id: rule for rule in (GIVEN_TWICE, STALE)}
"""Rules about input files only; `quotree rules` does not list them."""


def _complete_rule(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    return [CompletionItem(each.id, help=each.title) for each in by_id() if each.id.startswith(incomplete)]


@click.command(epilog=EXIT_CODES_OF_ACTIONS)
@click.argument("rule", shell_complete=_complete_rule)
def explain(rule: str) -> None:
    """Explain RULE: what it refuses, why, an example, and what to do.

    \b
    Examples:
      quotree explain parent-cycle
    """
    try:
        found = _OF_INPUTS.get(rule) or find(rule)
    except UnknownRule as error:
        raise Misused(f"{error} (`quotree rules` lists them)") from error
    emit(_page(found))


def _page(rule: Rule) -> str:
    facts = [
        f"Source:  {rule.source}",
        f"Default: {rule.default.value}",
        f"Kinds:   {', '.join(kinds_of(rule)) or 'all'}",
    ]
    return "\n".join([rule.id, "=" * len(rule.id), "", rule.page, "", *facts])
