"""Registering a rule: invalid declarations."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus

import pytest

from policies.cel.expression import Expression
from policies.dialects import kueue, volcano
from policies.judging import rule as module
from policies.judging.rule import Proposal, rule
from policies.model.findings import Finding
from policies.rules import find

FORM = Expression((volcano.QUEUE,), "''")


@pytest.fixture(autouse=True)
def _registry_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    find("parent-cycle")
    monkeypatch.setattr(module, "REGISTERED", dict(module.REGISTERED))


def check(_: Proposal) -> Iterator[Finding]:
    """A queue is wrong."""
    yield from ()


def test_decorator_registers_the_rule_with_its_attributes() -> None:
    rule("queue-wrong", source="here", kinds=[volcano.QUEUE], alone=True, cel=[FORM], status=HTTPStatus(422))(check)

    made = module.REGISTERED["queue-wrong"]
    assert (made.reason, made.title, made.cel, made.status) == ("QueueWrong", "A queue is wrong.", (FORM,), 422)


def test_a_second_rule_with_the_same_id_is_an_error_that_names_the_first() -> None:
    with pytest.raises(ValueError, match=r"parent-cycle: policies\.rules\.common\.parent_cycle has this id"):
        rule("parent-cycle", source="here", kinds=[volcano.QUEUE])(check)


@pytest.mark.parametrize(
    ("alone", "cel", "no_cel"),
    [(True, (), ""), (True, (FORM,), "a reason"), (False, (FORM,), ""), (False, (), "a reason")],
)
def test_only_a_standalone_rule_must_have_a_policy_or_a_reason(
    alone: bool, cel: tuple[Expression, ...], no_cel: str
) -> None:
    with pytest.raises(ValueError, match="decides alone"):
        rule("queue-wrong", source="here", kinds=[volcano.QUEUE], alone=alone, cel=cel, no_cel=no_cel)(check)


def test_policy_for_a_kind_outside_its_rule_is_an_error() -> None:
    with pytest.raises(ValueError, match="a kind that the rule does not judge"):
        rule("queue-wrong", source="here", kinds=[kueue.COHORT], alone=True, cel=[FORM])(check)


def test_no_rule_is_registered_that_contradicts_itself() -> None:
    with pytest.raises(ValueError):
        rule("queue-wrong", source="here", kinds=[volcano.QUEUE], alone=True)(check)

    assert "queue-wrong" not in module.REGISTERED
