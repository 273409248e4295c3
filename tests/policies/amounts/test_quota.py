"""Static quota arithmetic against manually computed numbers, and against a full recount on random trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.amounts import quota
from policies.dialects.kueue import CLUSTER_QUEUE, COHORT, KueueNode
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.model.pools import UNLIMITED, amount_text, minus, plus
from tests.builders import cohort, typed, world
from tests.policies.quota_nodes import node
from tests.profiles import times

PAIR = "spot/cpu"


def at(name: str) -> Ref:
    return COHORT.named(name) if name.isupper() else CLUSTER_QUEUE.named(name)


def reserved(forest: Forest, ref: Ref, pair: str) -> int:
    """The usage of a Cohort."""
    return quota.below(forest, ref, pair).taken


def column(forest: Forest, of: Any, *names: str) -> dict[str, int]:
    """In cores."""
    return {name: of(forest, at(name), PAIR) / 1000 for name in names}


def potentials(forest: Forest, *names: str) -> dict[str, int]:
    return column(forest, lambda *place: quota.potential(*place).amount, *names)


# -- the worked examples ------------------------------------------------------------------------------------


def test_queues_in_a_cohort_without_quota_share_all_quota() -> None:
    forest = world(node("a", "R", 9), node("b", "R", 12))

    assert column(forest, quota.subtree, "R", "a", "b") == {"R": 21, "a": 9, "b": 12}
    assert potentials(forest, "a", "b") == {"a": 21, "b": 21}


def test_borrowing_limit_caps_the_potential_above_nominal() -> None:
    forest = world(node("a", "R", 9, borrowing=1), node("b", "R", 12))

    assert potentials(forest, "a", "b") == {"a": 10, "b": 21}
    assert quota.potential(forest, at("a"), PAIR) == (10_000, at("a"), "borrowingLimit")
    assert quota.potential(forest, at("b"), PAIR) == (21_000, at("R"), "nominalQuota")


def test_lending_limit_withholds_the_rest_from_the_cohort() -> None:
    forest = world(node("a", "R", 10, lending=4), node("b", "R", 10))

    assert column(forest, quota.subtree, "R") == {"R": 14}
    assert column(forest, quota.lent, "a", "b") == {"a": 4, "b": 10}
    assert potentials(forest, "a", "b") == {"a": 20, "b": 14}


def test_limits_of_a_middle_cohort_apply_in_a_tree_of_three_levels() -> None:
    forest = world(
        node("R", None, 1),
        node("M", "R", 2, borrowing=3, lending=5),
        node("a", "M", 10, lending=6),
        node("q", "M", 4, borrowing=8),
        node("c", "R", 8),
    )

    assert column(forest, quota.subtree, "M", "R") == {"M": 12, "R": 14}
    assert column(forest, quota.lent, "a", "M") == {"a": 6, "M": 5}
    assert potentials(forest, "M", "a", "q", "c") == {"M": 15, "a": 19, "q": 12, "c": 14}
    assert quota.potential(forest, at("a"), PAIR).node == at("M")


def test_borrowing_limit_of_a_cohort_applies_to_both_children() -> None:
    forest = world(node("M", "R", borrowing=2), node("a", "M", 5), node("q", "M", 5), node("c", "R", 20))

    assert potentials(forest, "a", "q", "c") == {"a": 12, "q": 12, "c": 30}


@pytest.mark.parametrize(
    ("research", "production", "top"),
    [({"borrowing": 0}, {}, 35), ({}, {"lending": 0}, 20)],
)
def test_production_may_borrow_of_research_but_not_the_reverse(
    research: dict[str, int], production: dict[str, int], top: int
) -> None:
    forest = world(
        node("R"),
        node("RESEARCH", "R", **research),  # type: ignore[arg-type]
        node("PROD", "R", **production),  # type: ignore[arg-type]
        node("ra", "RESEARCH", 10),
        node("rb", "RESEARCH", 10),
        node("pa", "PROD", 15),
    )

    assert column(forest, quota.subtree, "R") == {"R": top}
    assert potentials(forest, "ra", "rb", "pa") == {"ra": 20, "rb": 20, "pa": 35}


def test_queue_without_quota_borrows_the_quota_of_all_others() -> None:
    forest = world(
        node("A", "TOP", borrowing=0),
        node("B", "TOP", borrowing=0),
        node("q", "A", 10),
        node("r", "B", 6),
        node("special", "TOP"),
    )

    assert potentials(forest, "q", "r", "special") == {"q": 10, "r": 6, "special": 16}


def test_reduced_quota_lowers_the_potential_below_usage() -> None:
    forest = world(node("a", "R", 4, borrowing=2, reserved=10), node("q", "R", 20, reserved=1))

    assert potentials(forest, "a") == {"a": 6}
    assert column(forest, reserved, "R") == {"R": 11}


def test_usage_within_withheld_quota_does_not_count_in_the_parent() -> None:
    forest = world(node("a", "R", 10, lending=4, reserved=8), node("b", "R", 10, reserved=10))

    assert column(forest, reserved, "R") == {"R": 12}
    assert column(forest, quota.subtree, "R") == {"R": 14}


def test_lending_limit_of_zero_excludes_quota_from_the_cohort() -> None:
    forest = world(node("a", "R", 5, lending=0), node("q", "R", 2), node("c", "R", 0, reserved=5))

    assert column(forest, quota.subtree, "R") == {"R": 2}
    assert potentials(forest, "a", "q", "c") == {"a": 7, "q": 2, "c": 2}


def test_usage_is_added_up_a_chain_of_cohorts() -> None:
    forest = world(
        *(node("R"), node("M", "R"), node("K", "M")),
        *(node("a", "K", 4), node("q", "K", 3, reserved=5), node("c", "M", 5), node("d", "R", 8)),
    )

    assert column(forest, quota.subtree, "K", "M", "R") == {"K": 7, "M": 12, "R": 20}
    assert column(forest, reserved, "K", "M", "R") == {"K": 5, "M": 5, "R": 5}
    assert potentials(forest, "a") == {"a": 20}


def test_borrowing_limit_caps_the_potential_of_a_nested_cohort() -> None:
    forest = world(node("M", "R", borrowing=3), node("a", "M", 2), node("q", "M", 2), node("c", "R", 8))

    assert potentials(forest, "M", "R") == {"M": 7, "R": 12}


def test_cohort_quota_is_added_to_the_quota_of_its_queues() -> None:
    forest = world(node("R"), node("M", "R", 4), node("a", "M", 2), node("q", "M", 2, reserved=2), node("c", "R", 4))

    assert column(forest, quota.subtree, "M", "R") == {"M": 8, "R": 12}


# -- units and bounds ----------------------------------------------------------------------------------------


def test_amounts_are_rounded_up_as_kueue_counts_them() -> None:
    forest = world(node("a", None, "1500u"), node("b", None, "1500m", resource="memory"))

    assert quota.subtree(forest, at("a"), PAIR) == 2
    assert quota.subtree(forest, at("b"), "spot/memory") == 2


def test_amount_above_64_bits_is_unlimited() -> None:
    forest = world(node("a", "R", "1E"), node("b", "R", 1))

    assert quota.potential(forest, at("b"), PAIR).amount == UNLIMITED
    assert quota.on_offer(forest, at("b"), PAIR) == UNLIMITED
    assert amount_text("cpu", UNLIMITED) == "unlimited"
    assert (plus(UNLIMITED, -5), minus(UNLIMITED, 5), minus(UNLIMITED, UNLIMITED)) == (UNLIMITED, UNLIMITED, 0)
    assert minus(5, UNLIMITED) == -(2**63)
    assert plus(UNLIMITED - 1, 5) == UNLIMITED


def test_on_offer_is_the_quota_of_the_other_queues() -> None:
    forest = world(node("a", "R", 9), node("b", "R", 12, lending=5), node("alone", None, 3))

    assert column(forest, quota.on_offer, "a", "b", "alone") == {"a": 5, "b": 9, "alone": 0}


def test_node_below_a_cycle_does_not_end_at_a_root() -> None:
    forest = world(node("A", "B"), node("B", "A"), node("a", "A", 1), node("b", "R", 1))

    assert not forest.ends_at_root(at("a"))
    assert forest.ends_at_root(at("b"))
    assert quota.root_of(forest, at("b")) == at("R")


def test_usage_of_a_removed_flavor_still_counts() -> None:
    gone = {**node("a", "R", 1, reserved=3)}
    gone["spec"] = {"cohortName": "R"}

    assert column(world(gone), reserved, "R") == {"R": 3}


# -- any tree ----------------------------------------------------------------------------------------------------------

COHORTS = "ABCD"
QUEUES = "wxyz"


@dataclass(frozen=True)
class Step:
    name: str
    parent: str | None
    nominal: int
    borrowing: int | None
    lending: int | None
    reserved: int
    gone: bool

    def manifest(self) -> dict[str, Any]:
        held = 0 if self.name in COHORTS else self.reserved
        return node(self.name, self.parent, self.nominal, self.borrowing, self.lending, held)


limits = st.integers(0, 9) | st.none()
steps = st.lists(
    st.builds(
        Step,
        st.sampled_from(COHORTS + QUEUES),
        st.sampled_from(COHORTS) | st.none(),
        st.integers(0, 9),
        limits,
        limits,
        st.integers(0, 9),
        st.booleans(),
    ),
    max_size=25,
)


class Recount:
    """The definitions by plain recursion over a dictionary, for trees without cycles."""

    def __init__(self, model: dict[str, Step]):
        self.model = model

    def parent(self, name: str) -> str | None:
        return self.model[name].parent if name in self.model else None

    def children(self, name: str) -> list[str]:
        return [child for child in self.model if self.model[child].parent == name]

    def subtree(self, name: str) -> int:
        own = self.model[name].nominal if name in self.model else 0
        return own + sum(self.subtree(child) - self.local(child) for child in self.children(name))

    def local(self, name: str) -> int:
        lending = self.model[name].lending if name in self.model else None
        return 0 if lending is None else max(0, self.subtree(name) - lending)

    def usage(self, name: str) -> int:
        if name in QUEUES:
            return self.model[name].reserved
        return sum(max(0, self.usage(child) - self.local(child)) for child in self.children(name))

    def potential(self, name: str) -> int:
        parent = self.parent(name)
        if parent is None:
            return self.subtree(name)
        reach = self.local(name) + self.potential(parent)
        borrowing = self.model[name].borrowing
        return reach if borrowing is None else min(reach, self.subtree(name) + borrowing)


@given(steps)
@times(3)
def test_incremental_quota_sums_equal_a_full_recount(steps: list[Step]) -> None:
    forest = Forest()
    model: dict[str, Step] = {}
    for step in steps:
        if step.gone:
            forest = forest.drop(at(step.name))
            model.pop(step.name, None)
        else:
            forest = forest.put(typed(step.manifest()))
            model[step.name] = step
    recount = Recount(model)
    broken = any(forest.on_cycle(ref) for ref in map(at, COHORTS))
    for name in () if broken else (*COHORTS, *model):
        place = (forest, at(name), PAIR)
        assert quota.subtree(*place) == 1000 * recount.subtree(name)
        assert quota.lent(*place) == 1000 * (recount.subtree(name) - recount.local(name))
        assert quota.potential(*place).amount == 1000 * recount.potential(name)
        if name in COHORTS:
            assert quota.below(*place).taken == 1000 * recount.usage(name)
    for queue in model:
        siblings = [
            model[other].nominal * 1000
            for other in model
            if other != queue and model[other].parent == model[queue].parent is not None
        ]
        pool = forest.beside(at(queue)).pools.get(PAIR)
        assert (pool.largest if pool else 0) == max(siblings, default=0)
        assert (pool.smallest if pool else 0) == min(filter(None, siblings), default=0)


@given(steps)
def test_users_of_a_flavor_are_tracked_at_every_step(steps: list[Step]) -> None:
    flavor = Ref("kueue.x-k8s.io", "ResourceFlavor", "", "spot")
    forest = Forest()
    using: set[Ref] = set()
    for step in steps:
        ref = at(step.name)
        if step.gone:
            forest = forest.drop(ref)
            using.discard(ref)
        else:
            forest = forest.put(typed(step.manifest()))
            using.add(ref)
        assert set(forest.users(flavor)) == using
        assert forest.count_users(flavor) == len(using)


def test_cohort_without_resource_groups_has_no_terms() -> None:
    plain = typed(cohort("A"))
    assert isinstance(plain, KueueNode)
    assert plain.terms() == {}


# -- whose quota it is --------------------------------------------------------------------------------------


def givers(forest: Forest, name: str) -> list[str]:
    return [ref.name for ref in quota.givers(forest, at(name), PAIR)]


def test_quota_givers_are_the_nodes_with_quota() -> None:
    forest = world(node("a", "R", 9), node("b", "R", 12), node("none", "R"), cohort("R"))

    assert givers(forest, "a") == ["a", "b"]


def test_quota_withheld_by_a_lending_limit_is_not_available_to_others() -> None:
    forest = world(node("a", "R", 9, lending=0), node("b", "R", 12), node("M", "R", 3, lending=0), node("c", "M", 5))

    assert givers(forest, "b") == ["b"]
    assert givers(forest, "a") == ["a", "b"]
    assert givers(forest, "c") == ["b", "c", "M"]


def test_givers_are_not_listed_if_there_are_too_many() -> None:
    assert givers(world(*(node(f"q{i}", "R", 1) for i in range(4))), "q0") == []


def test_a_large_tree_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quota, "_MOST_LOOKED_AT", 100)

    def forest(idle: int) -> Forest:
        return world(*(node(f"q{i}", "R", 0) for i in range(idle)), node("a", "R", 1))

    assert givers(forest(99), "a") == ["a"]
    assert givers(forest(100), "a") == []


def test_potential_ignores_a_lifted_borrowing_limit() -> None:
    forest = world(node("a", "R", 9, borrowing=1), node("b", "R", 12))

    assert quota.potential(forest, at("a"), PAIR, lifted=at("a")).amount == 21_000
