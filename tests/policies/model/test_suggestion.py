"""The suggestion for an unknown name."""

from __future__ import annotations

import pytest

from policies.model.suggestion import KnownNames, did_you_mean, only, slips, suggest, write_or_create
from tests.profiles import each_case

NAMES = {"research", "team-1", "a100"}


@pytest.mark.parametrize("wrong", ["reserch", "researchh", "reasearch", "resaerch", "reseerch", "team1"])
def test_name_with_one_edit_is_suggested(wrong: str) -> None:
    assert slips(wrong, NAMES.__contains__) == ["team-1" if wrong == "team1" else "research"]


@pytest.mark.parametrize("name", ["team-2", "team-12", "a10", "a1000", "rsrch", "production", ""])
def test_name_with_other_digits_or_words_is_not_suggested(name: str) -> None:
    assert slips(name, NAMES.__contains__) == []


@each_case(
    ("wrong", "meant"),
    [
        ("reserch", "research"),
        ("resaerhc", "research"),
        ("machinelearning", "machine-learning"),
        ("machin-lerning", "machine-learning"),
        ("team1", "team-1"),
        ("research-", "research"),
        ("enginering.platfrom", "engineering.platform"),
        ("sopt", "spot"),
        ("Spot", "spot"),
        ("PRODUCTION", "production"),
        ("a100-80g", "a100-80gb"),
        ("a100-80gbb", "a100-80gb"),
        ("h10-spot", "h100-spot"),
        ("h1000-spot", "h100-spot"),
        ("H100", "h100"),
    ],
)
def test_nearest_finds_a_name_with_few_edits(wrong: str, meant: str) -> None:
    known = KnownNames(
        [
            "h100",
            "h100-spot",
            "a100-80gb",
            "research",
            "machine-learning",
            "team-1",
            "engineering.platform",
            "spot",
            "production",
        ]
    )

    assert known.nearest(wrong) == meant


@each_case(
    ("name", "other"),
    [
        ("us-east", "us-west"),
        ("dev-eu", "dev-us"),
        ("prod-a", "prod-b"),
        ("team-1", "team-2"),
        ("team-1", "team-12"),
        ("a", "b"),
        ("", "a"),
        ("research", "research"),
        ("batch", "bench"),
        ("h100", "a100"),
        ("m5.xlarge", "c5.xlarge"),
        ("m5.xlarge", "m5a.xlarge"),
        ("a10", "a100"),
        ("a10-40gb", "a100-40gb"),
        ("team-10", "team-100"),
        ("team-1", "team-1b"),
        ("h20-spot", "h200-spots"),
        ("pool-2g", "pool-2t"),
        ("x" * 64, "x" * 65),
        ("ml", "machine-learning"),
    ],
)
def test_nearest_ignores_a_deliberately_different_name(name: str, other: str) -> None:
    assert KnownNames([other]).nearest(name) is None


def test_nearest_prefers_the_closest_then_the_first_by_name() -> None:
    assert KnownNames(["researchers", "research"]).nearest("reserch") == "research"
    assert KnownNames(["train", "brain"]).nearest("rain") == KnownNames(["brain", "train"]).nearest("rain") == "brain"


def test_suggest_names_the_closest_or_lists_a_few_known_names() -> None:
    assert suggest("cohrot", ["cohort", "parent"]) == "did you mean 'cohort'?"
    assert suggest("x", ["cohort", "parent"]) == "known here: cohort, parent"
    assert suggest("x", [f"rule-{number}" for number in range(100)]) == ""


def test_fix_of_a_missing_object_is_a_suggestion_or_its_creation() -> None:
    assert write_or_create("Cohort", "reserch", ["research"]) == "did you mean research?"
    assert write_or_create("Cohort", "production", []) == "create Cohort production"


@pytest.mark.parametrize("wrong", ["H100-spot", "h10-spot", "a100-80g"])
def test_slips_and_known_names_suggest_the_same(wrong: str) -> None:
    names = ["h100-spot", "a100-80gb", "h200-spot"]

    assert slips(wrong, names.__contains__) == KnownNames(names).near(wrong) != []


def test_a_name_is_never_near_itself() -> None:
    assert slips("research", NAMES.__contains__) == []


def test_look_ups_are_bounded_and_long_names_are_skipped() -> None:
    asked: list[str] = []

    def exists(name: str) -> bool:
        asked.append(name)
        return False

    assert slips("x" * 10, exists) == []
    assert 0 < len(asked) < 100 * 10
    asked.clear()
    assert slips("x" * 64, exists) == []
    assert asked == []


def test_only_requires_a_single_candidate() -> None:
    assert only("reserch", ["research", "production"]) == "research"
    assert only("team-a", ["team-b", "team-c", "production"]) == ""
    assert only("reserch", ["research", "reserach"]) == ""
    assert only("borowingLimit", ["borrowingLimit", "lendingLimit", "nominalQuota"]) == "borrowingLimit"


def test_several_candidates_are_listed_in_the_suggestion() -> None:
    assert did_you_mean(["research", "researchers"]) == "did you mean research or researchers?"
    assert did_you_mean(list("abcdef")) == "did you mean a or b or c?"
