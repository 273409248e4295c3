"""The recount itself: what is over, what is not."""

from __future__ import annotations

from tests.reconciler.recount import Node, Tree

TREE = Tree(
    {
        "top": Node("top", None, 0, None, None),
        "a": Node("a", "top", 3, 2, None),
        "b": Node("b", "top", 3, None, 1),
    }
)


def test_what_is_borrowed_within_the_limit_and_lent_is_no_over_admission() -> None:
    assert TREE.overdrawn({}, {"a": 4}) == []


def test_more_than_is_lent_is_found_at_the_root() -> None:
    assert TREE.overdrawn({}, {"a": 5}) == ["top: 5 in use, 4 allowed"]


def test_more_than_may_be_borrowed_is_found_at_the_queue() -> None:
    found = TREE.overdrawn({}, {"a": 6})

    assert "a: 6 in use, 5 allowed" in found


def test_quota_that_is_kept_is_used_beside_what_others_borrowed() -> None:
    assert TREE.overdrawn({"a": 4}, {"a": 4, "b": 2}) == []
    assert TREE.overdrawn({"a": 4}, {"a": 4, "b": 3}) == ["top: 5 in use, 4 allowed"]


def test_a_node_that_uses_no_more_than_before_is_not_blamed() -> None:
    assert TREE.overdrawn({"a": 6}, {"a": 6, "b": 1}) == []
