"""What is suggested in place of an unknown name."""

from __future__ import annotations

import pytest

from policies.model.suggestion import slip, suggest, write_or_create

NAMES = {"research", "team-1", "a100"}


@pytest.mark.parametrize("wrong", ["reserch", "researchh", "reasearch", "resaerch", "reseerch", "team1"])
def test_one_letter_missing_added_wrong_or_swapped_is_found(wrong: str) -> None:
    assert slip(wrong, NAMES.__contains__) == ("team-1" if wrong == "team1" else "research")


@pytest.mark.parametrize("name", ["team-2", "team-12", "a10", "a1000", "rsrch", "production", ""])
def test_other_digits_and_other_words_are_other_names(name: str) -> None:
    assert slip(name, NAMES.__contains__) is None


def test_the_closest_name_is_suggested_else_all_that_are_known_unless_these_are_many() -> None:
    assert suggest("cohrot", ["cohort", "parent"]) == "did you mean 'cohort'?"
    assert suggest("x", ["cohort", "parent"]) == "known here: cohort, parent"
    assert suggest("x", [f"rule-{number}" for number in range(100)]) == ""


def test_an_object_that_does_not_exist_is_a_slip_or_is_still_to_be_created() -> None:
    assert write_or_create("Cohort", "reserch", NAMES.__contains__) == "write research if that was meant"
    assert write_or_create("Cohort", "production", NAMES.__contains__) == "create Cohort production"


def test_a_name_is_never_near_itself() -> None:
    assert slip("research", NAMES.__contains__) is None


def test_the_number_of_look_ups_depends_on_the_name_alone_and_long_names_are_left_alone() -> None:
    asked: list[str] = []

    def exists(name: str) -> bool:
        asked.append(name)
        return False

    assert slip("x" * 10, exists) is None
    assert 0 < len(asked) < 100 * 10
    asked.clear()
    assert slip("x" * 64, exists) is None
    assert asked == []
