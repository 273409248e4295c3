"""Amounts are exact, stay within 64 bits, and read back as written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policies.model.quantity import INT64_MAX, Quantity
from scheduling.objects import amounts
from scheduling.objects.amounts import LEAST, UNLIMITED, FlavorResource


def test_cpu_counts_in_milli_and_all_else_in_units_rounded_up() -> None:
    assert amounts.read({"cpu": "1500m", "memory": "1Ki", "example.com/gpu": "100m"}) == {
        "cpu": 1500,
        "memory": 1024,
        "example.com/gpu": 1,
    }


def test_an_invalid_quantity_is_left_out() -> None:
    assert amounts.read({"cpu": "much", "memory": None}) == {}


def test_requests_saturate_at_64_bits() -> None:
    assert amounts.requested("memory", Quantity.parse("-1e30")) == LEAST
    assert amounts.times({"cpu": INT64_MAX, "memory": LEAST}, 2) == {"cpu": INT64_MAX, "memory": LEAST}
    assert amounts.total([{"cpu": INT64_MAX}, {"cpu": 1}, {"memory": 1}]) == {"cpu": INT64_MAX, "memory": 1}


@given(st.sampled_from(["cpu", "memory", "example.com/gpu"]), st.integers(LEAST, INT64_MAX))
def test_an_amount_written_as_a_quantity_reads_back(resource: str, amount: int) -> None:
    assert amounts.read(amounts.resource_list({resource: amount})) == {resource: amount}


def test_an_amount_divided_is_rounded_down_and_divided_by_zero_is_zero() -> None:
    assert amounts.divided({"cpu": 7}, 2) == {"cpu": 3}
    assert amounts.divided({"cpu": 7}, 0) == {"cpu": 0}


def test_a_flavor_resource_is_split_at_its_first_slash() -> None:
    pair = FlavorResource.parse("spot/example.com/gpu")

    assert pair == ("spot", "example.com/gpu")
    assert str(pair) == "spot/example.com/gpu"


def test_unlimited_amounts_are_infinite_in_metrics() -> None:
    assert amounts.approximate("cpu", UNLIMITED) == float("inf")
    assert amounts.approximate("cpu", 1500) == 1.5
    assert amounts.approximate("memory", 5) == 5.0
