"""A test of all seeds names each that fails."""

from __future__ import annotations

import pytest

from tests.profiles import each_seed, seeds


@pytest.mark.parametrize("other", ["x"])
@each_seed(1)
def test_a_test_of_all_seeds_may_have_other_parameters(other: str, seed: int) -> None:
    assert other == "x"
    assert seed in seeds(1)


def test_a_failed_test_names_each_seed() -> None:
    ran = []

    @each_seed(2)
    def fails(seed: int) -> None:
        ran.append(seed)
        assert seed not in (3, 7)

    with pytest.raises(ExceptionGroup) as failed:
        fails()

    assert [each.__notes__ for each in failed.value.exceptions] == [["seed: 3"], ["seed: 7"]]
    assert ran == [*seeds(2)]
