"""The rules about the parent queue that a Namespace names, for values that cannot be evaluated."""

from __future__ import annotations

import pytest

from tests.builders import change, found, missed, namespace, world
from tests.policies.organisations import queue_text
from tests.policies.queue_oracle import PARENT

DEEP = ".".join(["root", *["a"] * 101])
REASON = "the queue has more than 100 levels, which is too deep to be evaluated here"


@pytest.mark.parametrize("rule", ["parent-queue-missing", "parent-queue-is-leaf"])
def test_a_parent_that_is_too_deep_is_not_evaluated(rule: str) -> None:
    proposal = change(world(queue_text({"name": "a"})), namespace("dev", {PARENT: DEEP}))

    assert [each.reason for each in missed(rule, proposal)] == [REASON]


def test_other_parents_are_judged_even_if_one_is_too_deep() -> None:
    named = world(namespace("dev", {PARENT: DEEP}), namespace("ml", {PARENT: "root.a"}))
    proposal = change(named, queue_text({"name": "a"}))

    assert [each.message for each in found("parent-queue-is-leaf", proposal)] == [
        "the parent queue root.a of namespaces (ml) is a leaf; no queue can be created below it"
    ]
    assert REASON in [each.reason for each in missed("parent-queue-is-leaf", proposal)]
