"""List the rules."""

from __future__ import annotations

import click

from cli.exits import EXIT_CODES_OF_ACTIONS
from cli.input.options import output
from cli.output import emit, json_text
from cli.report.formats.table import columns
from cli.report.rulebook import by_id, dialects_of, kinds_of
from policies.judging.rule import Rule


@click.command(epilog=EXIT_CODES_OF_ACTIONS)
@output
def rules(output: str) -> None:
    """List the rules: id, default action, kinds, and the fault that each reports.

    \b
    Examples:
      quotree rules
      quotree rules -o json
    """
    every = by_id()
    emit(_json(every) if output == "json" else _table(every))


def _table(rules: list[Rule]) -> str:
    rows = [(rule.id, rule.default.value, dialects_of(rule), rule.title) for rule in rules]
    return "\n".join(columns([("RULE", "DEFAULT", "KINDS", "WHAT IS WRONG"), *rows]))


def _json(rules: list[Rule]) -> str:
    items = [
        {
            "id": rule.id,
            "title": rule.title,
            "default": rule.default.value,
            "source": rule.source,
            "kinds": kinds_of(rule),
        }
        for rule in rules
    ]
    return json_text({"apiVersion": "quotree.dev/v1alpha1", "kind": "RuleList", "items": items})
