"""Numbers of JSON texts."""

from __future__ import annotations

from decimal import Decimal

import pytest

from policies.text.json_values import read
from policies.text.positions import BadText, DocumentRoot


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e99999999999999999999", "-1.5E-99999999999999999999"])
def test_what_no_number_can_be_is_refused_with_its_place(number: str) -> None:
    found = read(f'{{"a": [1, {number}]}}')

    assert isinstance(found, BadText)
    assert (found.offset, found.message) == (10, f"{number} is not a number in JSON, or too large for one")


def test_a_large_number_is_exact() -> None:
    found = read('{"a": 1.25e400}')

    assert isinstance(found, DocumentRoot)
    assert found.value == {"a": Decimal("1.25e400")}
