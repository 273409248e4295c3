"""All rules, for the commands that list them."""

from __future__ import annotations

from policies.dialects import kueue, volcano
from policies.judging.rule import Rule
from policies.rules import registry, spelled

_DIALECTS = {kueue.GROUP: "Kueue", volcano.GROUP: "Volcano", volcano.JOB.group: "Volcano"}
_MOST_NAMES = 4
"""The maximum number of names in a row: rules about all kinds of jobs have more than fit into a line."""


def by_id() -> list[Rule]:
    return sorted(registry().values(), key=lambda rule: rule.id)


def dialects_of(rule: Rule) -> str:
    """The projects whose kinds the rule checks, and the names of other kinds. A long list is cut."""
    names = sorted({_DIALECTS.get(kind.group, kind.kind) for kind in rule.kinds})
    shown = names if len(names) <= _MOST_NAMES else [*names[: _MOST_NAMES - 1], f"{len(names) - _MOST_NAMES + 1} more"]
    return ", ".join(shown)


def kinds_of(rule: Rule) -> list[str]:
    """The kinds that the rule checks, as kubectl names them."""
    return sorted(map(spelled, rule.kinds))
