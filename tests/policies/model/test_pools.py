"""Amounts of quota, as Kueue counts them."""

from __future__ import annotations

import pytest

from policies.model.pools import LEAST, UNLIMITED, amount_text, count
from policies.model.quantity import INT64_MAX, Quantity


@pytest.mark.parametrize(
    ("resource", "text", "amount"),
    [
        ("cpu", "1500m", 1500),
        ("cpu", "9223372036854774", 9223372036854774000),
        ("cpu", "9223372036854775", UNLIMITED),
        ("memory", "1Ki", 1024),
        ("memory", "9223372036854775806", INT64_MAX - 1),
        ("memory", "9223372036854775807", UNLIMITED),
        ("memory", "1e30", UNLIMITED),
        ("memory", "-1e30", LEAST),
    ],
)
def test_quota_that_has_no_room_in_64_bits_is_unlimited(resource: str, text: str, amount: int) -> None:
    assert count(resource, Quantity.parse(text)) == amount


def test_amounts_are_written_in_the_usual_notation() -> None:
    assert amount_text("cpu", 4_000_000) == "4000"
    assert amount_text("cpu", 1500) == "1500m"
    assert amount_text("nvidia.com/gpu", 8000) == "8000"
    assert amount_text("cpu", 4_000_000_000) == "4M"
    assert amount_text("memory", 8 * 1024**3) == "8Gi"
    assert amount_text("cpu", UNLIMITED) == "unlimited"
