"""Kueue's rules across objects in an incompletely known state, and in a large one."""

from __future__ import annotations

from typing import Any

import pytest

from policies.dialects.kueue import CLUSTER_QUEUE
from policies.judge import evaluate
from policies.judging.rule import propose
from policies.model.findings import NotEvaluated
from policies.model.forest import Forest
from policies.rules import find
from tests.builders import change, cluster_queue, cohort, found, local_queue, missed, typed, world
from tests.policies.quota_nodes import node

FLAVOR = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "spot"}}
CHECKED: dict[str, Any] = {
    **cluster_queue("ml"),
    "spec": {"admissionChecksStrategy": {"admissionChecks": [{"name": "budget"}]}},
}


@pytest.mark.parametrize(
    ("rule", "manifest"),
    [
        ("flavor-missing", node("ml", None, 1)),
        ("admission-check-missing", CHECKED),
        ("cohort-name-slip", cluster_queue("ml", "research")),
        ("queue-named-like-cohort", cluster_queue("ml")),
        ("queue-named-like-cohort", cohort("ml")),
        ("local-queue-to-stopped", local_queue("team", "ml")),
        ("borrowing-limit-unreachable", node("ml", "R", 1, borrowing=5)),
        ("lending-limit-idle", node("ml", "R", 1, lending=1)),
        ("quota-out-of-scale", node("ml", "R", 1)),
    ],
)
def test_rule_is_not_evaluated_without_the_referenced_objects(rule: str, manifest: dict[str, Any]) -> None:
    proposal = change(world(known=()), manifest)

    assert found(rule, proposal) == []
    assert missed(rule, proposal) != []


@pytest.mark.parametrize("rule", ["moved-to-another-root", "quota-below-reserved"])
def test_move_is_not_evaluated_in_an_incomplete_tree(rule: str) -> None:
    proposal = change(world(node("ml", "A", 1, reserved=1), known=()), node("ml", "B", 0, reserved=1))

    assert found(rule, proposal) == []
    assert missed(rule, proposal) != []


@pytest.mark.parametrize("manifest", [FLAVOR, cluster_queue("ml")])
def test_deletion_is_not_evaluated_if_not_all_users_are_known(manifest: dict[str, Any]) -> None:
    stored = world(manifest, known=())
    proposal = change(stored, delete=[typed(manifest).ref])

    assert found("delete-while-used", proposal) == []
    assert missed("delete-while-used", proposal) != []


def test_known_user_blocks_a_deletion_even_if_not_all_are_known() -> None:
    stored = world(FLAVOR, node("ml", None, 1), known=[CLUSTER_QUEUE])

    (finding,) = found("delete-while-used", change(stored, delete=[typed(FLAVOR).ref]))

    assert [cause.object for cause in finding.causes] == [CLUSTER_QUEUE.named("ml")]


def test_ten_users_are_named_and_the_others_counted() -> None:
    stored = world(FLAVOR, *(node(f"q{i:02}", None, 1) for i in range(12)))

    (finding,) = found("delete-while-used", change(stored, delete=[typed(FLAVOR).ref]))

    assert "ClusterQueue q09 and 2 more refer to it" in finding.message
    assert finding.excess == 12


@pytest.mark.parametrize(
    "rule",
    ["borrowing-limit-unreachable", "lending-limit-idle", "moved-to-another-root", "quota-below-reserved"],
)
def test_quota_is_not_judged_on_a_cycle(rule: str) -> None:
    loop = [node("A", "B", 5, borrowing=9, lending=1), node("B", "A", 5)]
    before = node("q", "R", 5, borrowing=1, lending=1, reserved=4)
    proposal = change(world(*loop, before), node("q", "A", 1, borrowing=9, lending=1, reserved=4), *loop)

    assert [result for result in find(rule).check(proposal) if not isinstance(result, NotEvaluated)] == []


def test_valid_change_does_not_walk_over_siblings(monkeypatch: pytest.MonkeyPatch) -> None:
    queues = [node(f"q{i}", "R", 10, borrowing=5, lending=4, reserved=3) for i in range(40)]
    proposal = change(world(FLAVOR, *queues), node("q5", "R", 11, borrowing=6, lending=4, reserved=3))

    def walk(*_: object) -> None:
        raise AssertionError("looks at all siblings")

    for name in ("children", "shares", "nodes", "objects", "attached", "users"):
        monkeypatch.setattr(Forest, name, walk)

    assert [j.rule.id for j in evaluate(proposal).findings if j.rule.id != "bad-structure"] == []


def test_unreadable_reserved_amounts_in_a_status_count_as_zero() -> None:
    broken = node("ml", None, 1)
    broken["status"] = {"flavorsReservation": [3, {"name": "spot", "resources": [{"name": "cpu", "total": "x"}, []]}]}

    assert evaluate(propose(world(FLAVOR, broken), [])).findings == ()
    assert found("quota-below-reserved", change(world(FLAVOR, broken), node("ml", None, 0))) == []
