"""A rule with an internal error, for the tests of what that costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from policies.judging.rule import Proposal, Rule
from policies.model.change import Occasion
from policies.model.findings import Finding
from policies.model.objects import GroupKind
from policies.rules import concerned


def break_rule(monkeypatch: pytest.MonkeyPatch, id: str) -> None:
    """Let the check of this rule raise after its findings."""

    def broken(rule: Rule) -> Rule:
        def check(proposal: Proposal) -> Iterator[Finding]:
            yield from rule.check(proposal)  # type: ignore[misc]
            raise LookupError("a secret\nof ours")

        return replace(rule, check=check) if rule.id == id else rule

    def some(kinds: frozenset[GroupKind], occasions: frozenset[Occasion]) -> tuple[Rule, ...]:
        return tuple(map(broken, concerned(kinds, occasions)))

    monkeypatch.setattr("policies.judge.concerned", some)
