"""Names that are one slip away."""

from __future__ import annotations

import pytest

from policies.model.nearest import nearest

NAMES = {"research", "team-1", "a100"}


@pytest.mark.parametrize("slip", ["reserch", "researchh", "reasearch", "resaerch", "reseerch", "team1"])
def test_one_letter_missing_added_wrong_or_swapped_is_found(slip: str) -> None:
    assert nearest(slip, NAMES.__contains__) == ("team-1" if slip == "team1" else "research")


@pytest.mark.parametrize("name", ["team-2", "team-12", "a10", "a1000", "rsrch", "production", ""])
def test_other_digits_and_other_words_are_other_names(name: str) -> None:
    assert nearest(name, NAMES.__contains__) is None


def test_a_name_is_never_near_itself() -> None:
    assert nearest("research", NAMES.__contains__) is None


def test_the_number_of_look_ups_depends_on_the_name_alone_and_long_names_are_left_alone() -> None:
    asked: list[str] = []

    def exists(name: str) -> bool:
        asked.append(name)
        return False

    assert nearest("x" * 10, exists) is None
    assert 0 < len(asked) < 100 * 10
    asked.clear()
    assert nearest("x" * 64, exists) is None
    assert asked == []
