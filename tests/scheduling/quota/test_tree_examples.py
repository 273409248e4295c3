"""The worked examples E1 to E10 of the quota semantics: every number was computed independently of this engine."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from policies.model.pools import Terms
from scheduling.objects.amounts import FlavorResource
from scheduling.quota.tree import QuotaNode, QuotaTree
from tests.profiles import each_case
from tests.scheduling.quota.kep79 import balance

PAIR = FlavorResource("default", "gpu")


def node(tree: QuotaTree, name: str) -> QuotaNode:
    return tree.queues.get(name) or tree.cohorts[name]


def cohort(tree: QuotaTree, name: str, parent: str | None, *terms: int | None) -> None:
    tree.put_cohort(name, parent, {PAIR: _terms(*terms)})


def queue(tree: QuotaTree, name: str, parent: str | None, *terms: int | None) -> None:
    tree.put_queue(name, parent, {PAIR: _terms(*terms)})


def _terms(nominal: int | None = 0, borrowing: int | None = None, lending: int | None = None) -> Terms:
    return Terms(nominal or 0, borrowing, lending)


def use(tree: QuotaTree, **usage: int) -> None:
    for name, amount in usage.items():
        tree.add(tree.queues[name], {PAIR: amount})


def available(tree: QuotaTree, *names: str) -> list[int]:
    return [node(tree, name).available(PAIR) for name in names]


def potential(tree: QuotaTree, *names: str) -> list[int]:
    return [node(tree, name).potential(PAIR) for name in names]


@pytest.mark.parametrize(
    ("limit", "used", "free", "most"),
    [
        (None, (0, 0), [21, 21], [21, 21]),
        (1, (0, 0), [10, 21], [10, 21]),
        (1, (9, 0), [1, 12], [10, 21]),
        (1, (0, 15), [6, 6], [10, 21]),
    ],
)
def test_e1_a_borrowing_limit_counts_from_the_nominal_quota(
    limit: int | None, used: tuple[int, int], free: list[int], most: list[int]
) -> None:
    tree = QuotaTree()
    queue(tree, "A", "team", 9, limit)
    queue(tree, "B", "team", 12)

    use(tree, A=used[0], B=used[1])

    assert free == available(tree, "A", "B")
    assert most == potential(tree, "A", "B")


@pytest.mark.parametrize(
    ("used", "root", "free"),
    [((0, 0), 0, [20, 14]), ((3, 12), 12, [5, 2]), ((8, 10), 12, [2, 2]), ((8, 12), 14, [0, 0])],
)
def test_e2_quota_that_is_not_lent_stays_with_its_queue(used: tuple[int, int], root: int, free: list[int]) -> None:
    tree = QuotaTree()
    queue(tree, "A", "team", 10, None, 4)
    queue(tree, "B", "team", 10)

    use(tree, A=used[0], B=used[1])

    assert node(tree, "team").quota(PAIR) == 14
    assert root == node(tree, "team").used(PAIR)
    assert free == available(tree, "A", "B")


def three_levels() -> QuotaTree:
    tree = QuotaTree()
    cohort(tree, "R", None, 1)
    cohort(tree, "M", "R", 2, 3, 5)
    queue(tree, "A", "M", 10, None, 6)
    queue(tree, "Q", "M", 4, 8)
    queue(tree, "C", "R", 8)
    return tree


@pytest.mark.parametrize(
    ("used", "sums", "free"),
    [
        ((0, 0, 0), (0, 0), [15, 19, 12, 14]),
        ((5, 6, 4), (7, 4), [8, 8, 6, 10]),
        ((4, 12, 2), (12, 7), [3, 3, 0, 7]),
        ((4, 12, 9), (12, 14), [0, 0, 0, 0]),
    ],
)
def test_e3_limits_hold_in_the_middle_of_a_tree(used: Sequence[int], sums: tuple[int, int], free: list[int]) -> None:
    tree = three_levels()

    use(tree, A=used[0], Q=used[1], C=used[2])

    assert sums == (node(tree, "M").used(PAIR), node(tree, "R").used(PAIR))
    assert free == available(tree, "M", "A", "Q", "C")
    assert potential(tree, "M", "A", "Q", "C") == [15, 19, 12, 14]


@pytest.mark.parametrize(
    ("used", "balanced", "free"),
    [((0, 0, 0), 10, [12, 12, 30]), ((9, 0, 0), 1, [3, 3, 21]), ((9, 3, 0), -2, [0, 0, 18])],
)
def test_e4_siblings_share_the_limit_of_their_cohort(used: Sequence[int], balanced: int, free: list[int]) -> None:
    tree = QuotaTree()
    cohort(tree, "M", "top", 0, 2)
    queue(tree, "A", "M", 5)
    queue(tree, "Q", "M", 5)
    queue(tree, "C", "top", 20)

    use(tree, A=used[0], Q=used[1], C=used[2])

    assert balanced == balance(node(tree, "M"), PAIR)
    assert free == available(tree, "A", "Q", "C")


@pytest.mark.parametrize(
    ("research", "prod", "used", "free"),
    [
        ((0, 0), (0, None), (0, 0, 0), [20, 20, 35]),
        ((0, 0), (0, None), (4, 0, 25), [6, 6, 6]),
        ((0, None), (0, None, 0), (0, 0, 0), [20, 20, 35]),
        ((0, None), (0, None, 0), (4, 0, 25), [6, 6, 6]),
        ((0, 0), (0, None), (14, 0, 25), [-4, -4, -4]),
    ],
)
def test_e5_production_borrows_of_research_and_not_the_reverse(
    research: Sequence[int | None], prod: Sequence[int | None], used: Sequence[int], free: list[int]
) -> None:
    tree = QuotaTree()
    cohort(tree, "research", "company", *research)
    cohort(tree, "prod", "company", *prod)
    queue(tree, "ra", "research", 10)
    queue(tree, "rb", "research", 10)
    queue(tree, "pa", "prod", 15)

    use(tree, ra=used[0], rb=used[1], pa=used[2])

    assert free == available(tree, "ra", "rb", "pa")


@pytest.mark.parametrize(
    ("used", "free"),
    [((0, 0, 0), [10, 6, 16]), ((7, 0, 0), [3, 6, 9]), ((7, 0, 9), [0, 0, 0]), ((0, 0, 12), [4, 4, 4])],
)
def test_e6_a_queue_without_quota_borrows_from_all_others(used: Sequence[int], free: list[int]) -> None:
    tree = QuotaTree()
    cohort(tree, "org1", "top", 0, 0)
    cohort(tree, "org2", "top", 0, 0)
    queue(tree, "q1", "org1", 10)
    queue(tree, "q2", "org2", 6)
    queue(tree, "special", "top", 0)

    use(tree, q1=used[0], q2=used[1], special=used[2])

    assert free == available(tree, "q1", "q2", "special")


def test_e7_a_quota_below_the_usage_leaves_no_quota_for_any_queue() -> None:
    tree = QuotaTree()
    queue(tree, "A", "team", 10)
    queue(tree, "Q", "team", 5)
    use(tree, A=10, Q=1)

    queue(tree, "A", "team", 4)

    assert (node(tree, "team").quota(PAIR), node(tree, "team").used(PAIR)) == (9, 11)
    assert available(tree, "A", "Q") == [-2, -2]
    assert [node(tree, name).free(PAIR) for name in ("A", "Q")] == [0, 0]


def test_e7_with_a_borrowing_limit_only_the_queue_itself_has_no_quota() -> None:
    tree = QuotaTree()
    queue(tree, "A", "team", 10, 2)
    queue(tree, "Q", "team", 20)
    use(tree, A=10, Q=1)

    queue(tree, "A", "team", 4, 2)

    assert available(tree, "A", "Q") == [-4, 13]
    assert potential(tree, "A") == [6]


def test_e8_guaranteed_quota_is_less_while_an_ancestor_is_in_debt() -> None:
    tree = QuotaTree()
    queue(tree, "A", "team", 5, None, 0)
    queue(tree, "Q", "team", 2)
    queue(tree, "C", "team", 5)
    use(tree, C=5)

    queue(tree, "C", "team", 0)

    assert (node(tree, "team").quota(PAIR), node(tree, "team").used(PAIR)) == (2, 5)
    assert available(tree, "A", "Q", "C") == [2, -3, -3]
    assert balance(node(tree, "team"), PAIR) == -3, "KEP-79 to the letter refuses what Kueue admits in A"


def test_e9_a_debt_outside_the_path_to_the_root_stops_no_queue() -> None:
    tree = QuotaTree()
    cohort(tree, "M", "top", 0, 0)
    queue(tree, "A", "M", 2)
    queue(tree, "Q", "top", 10)

    use(tree, A=5)

    assert available(tree, "Q") == [7]
    assert balance(node(tree, "M"), PAIR) == -3, "KEP-79 to the letter refuses what Kueue admits in Q"


@each_case(
    ("used", "asked", "level", "reclaimable"),
    [
        ({}, 4, 0, True),
        ({}, 5, 1, True),
        ({}, 7, 1, True),
        ({}, 8, 2, True),
        ({}, 12, 2, True),
        ({}, 13, 3, False),
        ({}, 21, 3, False),
        ({"Q": 5}, 4, 0, True),
        ({"Q": 5}, 5, 2, True),
        ({"Q": 5}, 7, 2, True),
        ({"A": 6}, 0, 1, True),
        ({"A": 6}, 1, 1, True),
    ],
)
def test_e10_the_level_of_borrowing(used: dict[str, int], asked: int, level: int, reclaimable: bool) -> None:
    tree = QuotaTree()
    cohort(tree, "R", None)
    cohort(tree, "M", "R")
    cohort(tree, "K", "M")
    for name, parent, nominal in (("A", "K", 4), ("Q", "K", 3), ("C", "M", 5), ("D", "R", 8)):
        queue(tree, name, parent, nominal)

    use(tree, **used)

    assert [node(tree, name).height() for name in ("K", "M", "R")] == [1, 2, 3]
    assert (level, reclaimable) == node(tree, "A").borrowing_level(PAIR, asked)
