"""Where quota could be raised: each place alone makes the request fit, and one unit less does not."""

from __future__ import annotations

import copy

from hypothesis import given
from hypothesis import strategies as st

from policies.model.pools import NO_TERMS, Terms
from scheduling.quota.node import QuotaNode
from scheduling.quota.tree import QuotaTree
from scheduling.visibility.raising import BORROWING_LIMIT, MOST_PLACES, NOMINAL_QUOTA, Lenders, Raise, raises
from tests.scheduling.drawn import CPU, draw
from tests.scheduling.quota.drawn_trees import PAIR, trees


def raised(tree: QuotaTree, found: Raise, by: int) -> QuotaTree:
    """The tree with that one limit higher."""
    tree = copy.deepcopy(tree)
    node = _node(tree, found)
    terms = node.terms.get(PAIR, NO_TERMS)
    assert (terms.nominal if found.limit == NOMINAL_QUOTA else terms.borrowing) == found.now
    changed = {"nominal" if found.limit == NOMINAL_QUOTA else "borrowing": found.now + by}
    put = tree.put_queue if found.is_queue else tree.put_cohort
    put(node.name, node.parent.name if node.parent else None, {PAIR: Terms(**{**terms._asdict(), **changed})})
    return tree


def _node(tree: QuotaTree, found: Raise) -> QuotaNode:
    return (tree.queues if found.is_queue else tree.cohorts)[found.node]


@given(trees(), st.integers(1, 40))
def test_raising_each_place_is_enough_and_one_unit_less_is_not(tree: QuotaTree, wanted: int) -> None:
    for name, queue in tree.queues.items():
        for idle in (False, True):
            for each in raises(queue, PAIR, wanted, Lenders(), idle=idle):
                by = each.needed - each.now
                for more, enough in ((by, True), (by - 1, False)):
                    there = raised(tree, each, more).queues[name]
                    assert (wanted <= (there.potential(PAIR) if idle else there.available(PAIR))) == enough, each


@given(trees(), st.integers(1, 40))
def test_a_place_to_raise_quota_is_listed_if_and_only_if_the_request_is_short(tree: QuotaTree, wanted: int) -> None:
    for queue in tree.queues.values():
        found = raises(queue, PAIR, wanted)
        assert bool(found) == (wanted > queue.available(PAIR))
        assert {each.node for each in found} <= {node.name for node in queue.path()}
        if found:
            assert (found[0].node, found[0].limit) == (queue.name, NOMINAL_QUOTA)


TREE = """
    cohort company
      cohort lab
        queue research  cpu=1000
          work first    cpu=600
        queue vision    cpu=2000
          work second   cpu=2000
      queue ops         cpu=4000
        work third      cpu=4000
      queue closed      cpu=9000 cpu.lend=0
"""


def test_the_queue_is_listed_first_then_the_nearest_queues_with_quota() -> None:
    node = draw(TREE).queues["research"].node

    assert raises(node, CPU, 600, Lenders()) == (
        Raise("research", True, NOMINAL_QUOTA, 1000, 1200),
        Raise("vision", True, NOMINAL_QUOTA, 2000, 2200),
        Raise("ops", True, NOMINAL_QUOTA, 4000, 4200),
    )


def test_a_cohort_with_quota_is_listed_and_the_list_has_a_maximum() -> None:
    queues = "\n".join(f"      queue q{number} cpu={number}" for number in range(1, 50))
    node = draw(f"    cohort company cpu=5\n{queues}").queues["q1"].node

    found = raises(node, CPU, 9999, Lenders())

    assert len(found) == MOST_PLACES
    assert [each.node for each in found] == ["q1", "company", "q49"]


def test_a_borrowing_limit_is_listed_if_raising_it_alone_is_enough() -> None:
    tree = "cohort org\n  queue small cpu=4 cpu.borrow=1\n    work w cpu=4\n  queue large cpu={large}"

    enough = raises(draw(tree.format(large=8)).queues["small"].node, CPU, 2, Lenders())
    scarce = raises(draw(tree.format(large=1)).queues["small"].node, CPU, 2, Lenders())

    assert enough == (
        Raise("small", True, NOMINAL_QUOTA, 4, 5),
        Raise("small", True, BORROWING_LIMIT, 1, 2),
    )
    assert scarce == enough[:1], "with a higher borrowingLimit there would be nothing to borrow"
