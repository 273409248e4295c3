"""Amounts: exact, within 64 bits, and back again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.model.quantity import INT64_MAX, Quantity
from scheduling.objects import amounts
from scheduling.objects.amounts import LEAST, UNLIMITED, FlavorResource


def quota(resource: str, text: str) -> int:
    return amounts.quota(resource, Quantity.parse(text))


def test_cpu_counts_in_milli_and_all_else_in_units_rounded_up() -> None:
    assert amounts.read({"cpu": "1500m", "memory": "1Ki", "example.com/gpu": "100m"}) == {
        "cpu": 1500,
        "memory": 1024,
        "example.com/gpu": 1,
    }


def test_what_is_no_quantity_is_left_out() -> None:
    assert amounts.read({"cpu": "much", "memory": None}) == {}


@pytest.mark.parametrize(
    ("resource", "text", "amount"),
    [
        ("cpu", "9223372036854774", 9223372036854774000),
        ("cpu", "9223372036854775", UNLIMITED),
        ("memory", "9223372036854775806", INT64_MAX - 1),
        ("memory", "9223372036854775807", UNLIMITED),
        ("memory", "1e30", UNLIMITED),
    ],
)
def test_quota_that_has_no_room_in_64_bits_is_unlimited(resource: str, text: str, amount: int) -> None:
    assert quota(resource, text) == amount


def test_requests_stop_at_64_bits_on_both_sides() -> None:
    assert amounts.requested("memory", Quantity.parse("-1e30")) == LEAST
    assert amounts.times({"cpu": INT64_MAX, "memory": LEAST}, 2) == {"cpu": INT64_MAX, "memory": LEAST}
    assert amounts.total([{"cpu": INT64_MAX}, {"cpu": 1}, {"memory": 1}]) == {"cpu": INT64_MAX, "memory": 1}


@given(st.sampled_from(["cpu", "memory", "example.com/gpu"]), st.integers(LEAST, INT64_MAX))
def test_an_amount_written_as_a_quantity_reads_back(resource: str, amount: int) -> None:
    assert amounts.read(amounts.written({resource: amount})) == {resource: amount}


def test_one_of_several_parts_is_rounded_down_and_of_none_there_is_nothing() -> None:
    assert amounts.part({"cpu": 7}, 2) == {"cpu": 3}
    assert amounts.part({"cpu": 7}, 0) == {"cpu": 0}


def test_only_resources_of_both_are_compared() -> None:
    assert amounts.greater({"b": 2, "a": 2, "c": 9, "d": 1}, {"a": 1, "b": 1, "d": 1}) == ["a", "b"]


def test_the_resource_that_fits_least_often_limits_and_the_first_name_breaks_a_tie() -> None:
    assert amounts.fitting({"memory": 1, "cpu": 5}, {"cpu": 12, "memory": 2}) == (2, "cpu")
    assert amounts.fitting({"gpu": 1}, {}) == (0, "gpu")
    assert amounts.fitting({"gpu": 1}, {"gpu": -3}) == (0, "gpu")
    assert amounts.fitting({"gpu": 0}, {}) == (amounts.MANY, "gpu")
    assert amounts.fitting({}, {"gpu": 1}) == (0, "")


def test_a_pair_is_split_at_its_first_slash() -> None:
    pair = FlavorResource.parse("spot/example.com/gpu")

    assert pair == ("spot", "example.com/gpu")
    assert str(pair) == "spot/example.com/gpu"


def test_in_metrics_what_is_unlimited_is_infinite() -> None:
    assert amounts.approximate("cpu", UNLIMITED) == float("inf")
    assert amounts.approximate("cpu", 1500) == 1.5
    assert amounts.approximate("memory", 5) == 5.0
