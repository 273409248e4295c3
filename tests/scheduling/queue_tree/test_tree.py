"""The tree's sums equal a recount after random changes in any order."""

from __future__ import annotations

import random

import pytest

from scheduling.objects.amounts import add_to
from scheduling.queue_tree.amounts import Shortage, exceeding, total
from scheduling.queue_tree.node import QueueNode
from scheduling.queue_tree.tree import QueueTree
from tests.profiles import seeds

Tree = QueueTree[None]
NAMES = "abcdefgh"


def drawn(text: str) -> Tree:
    """`a/b` puts b below a; what shows nothing else shows one unit of `weight`."""
    tree = Tree()
    for edge in text.split():
        above, _, name = edge.rpartition("/")
        tree.put(name, above or None, None, {"weight": {"cpu": 1}})
    return tree


def test_usage_counts_at_the_queue_and_its_ancestors() -> None:
    tree = drawn("root root/a a/b root/c")

    tree.nodes["b"].add("allocated", {"cpu": 2})
    tree.nodes["c"].add("allocated", {"cpu": 1})
    tree.nodes["b"].add("allocated", {"cpu": 1}, -1)

    assert {name: dict(node.amounts("allocated")) for name, node in tree.nodes.items()} == {
        "root": {"cpu": 2},
        "a": {"cpu": 1},
        "b": {"cpu": 1},
        "c": {"cpu": 1},
    }


def test_a_child_can_be_added_before_its_parent() -> None:
    tree = drawn("a/b")
    tree.nodes["b"].add("allocated", {"cpu": 2})
    assert tree.nodes["b"].detached is tree.nodes["b"]

    tree.put("a", None, None, {})

    assert tree.nodes["b"].detached is None
    assert dict(tree.nodes["a"].amounts("allocated")) == {"cpu": 2}


def test_a_moved_queue_keeps_its_usage() -> None:
    tree = drawn("root root/a root/c a/b")
    tree.nodes["b"].add("allocated", {"cpu": 2})

    tree.put("b", "c", None, {"weight": {"cpu": 1}})

    assert dict(tree.nodes["a"].amounts("allocated")) == {}
    assert dict(tree.nodes["c"].amounts("allocated")) == {"cpu": 2}
    assert dict(tree.nodes["c"].sum_below("weight")) == {"cpu": 1}


def test_a_walk_ends_at_a_cycle_and_a_cycle_can_be_removed() -> None:
    tree = drawn("root root/a a/b b/c")

    tree.put("a", "c", None, {})
    assert [node.name for node in tree.nodes["c"].up()] == ["c", "b", "a"]
    assert tree.strays.keys() == {"a"}

    tree.put("b", "root", None, {})
    assert [node.name for node in tree.nodes["a"].up()] == ["a", "c", "b", "root"]
    assert tree.strays == {}


def test_ancestors_begin_with_the_root() -> None:
    assert [node.name for node in drawn("root root/a a/b").nodes["b"].ancestors()] == ["root", "a"]


def test_the_short_amount_is_what_exceeds_the_limit() -> None:
    assert Shortage("a", "cpu", used=5, requested=3, limit=6).short == 2


def test_amounts_that_become_zero_are_removed() -> None:
    amounts = total({"cpu": 1}, {"cpu": 2, "gpu": 1})
    add_to(amounts, {"gpu": 1}, -1)

    assert amounts == {"cpu": 3}
    assert exceeding({"cpu": 3, "gpu": 1}, {"cpu": 2, "gpu": 4}) == {"cpu": 1}


@pytest.mark.parametrize("seed", seeds(2))
def test_the_sums_equal_a_recount_after_any_changes(seed: int) -> None:
    rng = random.Random(seed)
    tree, own = Tree(), dict.fromkeys(NAMES, 0)
    for _ in range(60):
        name = rng.choice(NAMES)
        match rng.choice(["put", "put", "add", "drop"]):
            case "put":
                above = rng.choice([None, *NAMES.replace(name, "")])
                tree.put(name, above, None, {"weight": {"cpu": rng.randint(1, 3)}})
            case "add" if name in tree.nodes:
                own[name] += 1
                tree.nodes[name].add("allocated", {"cpu": 1})
            case "drop" if name in tree.nodes:
                tree.drop(name)
                own[name] = 0
        check(tree, own)


def check(tree: Tree, own: dict[str, int]) -> None:
    for node in tree.nodes.values():
        assert all(child.parent is node for child in node.children.values())
        assert node.amounts("allocated").get("cpu", 0) == sum(own[below.name] for below in subtree(node))
        assert node.sum_below("weight").get("cpu", 0) == sum(
            child.declared["weight"]["cpu"] for child in tree.nodes.values() if child.parent is node
        )
        missing = node.above is not None and node.parent is None
        assert missing == (node.name in tree.strays)
        assert not missing or node.on_cycle or node.above not in tree.nodes


def subtree(node: QueueNode[None]) -> list[QueueNode[None]]:
    return [node, *(below for child in node.children.values() for below in subtree(child))]
