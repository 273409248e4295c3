"""Durations as Go reads them; the numbers are those that Go prints."""

from __future__ import annotations

from policies.dialects.go_values import read_duration
from tests.profiles import each_case


@each_case(
    ("text", "nanoseconds"),
    [
        ("15m", 900 * 10**9),
        ("1h30m", 5400 * 10**9),
        ("-1ns", -1),
        ("+1ms", 10**6),
        ("0", 0),
        ("-0", 0),
        ("5.s", 5 * 10**9),
        (".5s", 5 * 10**8),
        ("1.00000000049s", 10**9),
        ("0.1ns", 0),
        ("3μs", 3000),
        ("3µs", 3000),
        ("2562047h", 2562047 * 3600 * 10**9),
        ("2562048h", None),
        ("30", None),
        ("", None),
        (".s", None),
        ("1s ", None),
        ("1 s", None),
        ("1e3s", None),
    ],
)
def test_durations(text: str, nanoseconds: int | None) -> None:
    assert read_duration(text) == nanoseconds
