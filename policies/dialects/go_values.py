"""How Go reads booleans, integers and durations from strings.

Source: Go, strconv: ParseBool, ParseInt and Atoi with base 10; time: ParseDuration.
"""

from __future__ import annotations

import re
from typing import Final

TRUE = frozenset(["1", "t", "T", "TRUE", "true", "True"])
FALSE = frozenset(["0", "f", "F", "FALSE", "false", "False"])
"""All other strings are not booleans."""
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_LONGEST = 20  # digits of the largest number of 64 bits
_UNITS = {"h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 1000, "µs": 1000, "μs": 1000, "ns": 1}
_PART = re.compile(r"(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(h|ms|m|s|us|µs|μs|ns)")
_DURATION = re.compile(rf"([-+]?)((?:{_PART.pattern})+)").fullmatch
_LONGEST_DURATION = 100
"""The most characters of a duration that are read."""


def read_integer(written: str, bits: int) -> int | None:
    """The signed integer with at most `bits` bits; None if Go would return an error."""
    if not _INTEGER.fullmatch(written):
        return None
    digits = written.lstrip("+-").lstrip("0")[:_LONGEST] or "0"
    number = -int(digits) if written[0] == "-" else int(digits)
    most = 2 ** (bits - 1)
    return number if -most <= number < most else None


def read_count(written: str) -> int | None:
    """The number above 0 with at most 32 bits; None for all other strings."""
    number = read_integer(written, 32)
    return number if number is not None and number > 0 else None


def read_duration(written: str) -> int | None:
    """The duration in nanoseconds, such as 15m, 1h30m, -1ns or 0; None if Go would return an error."""
    if written in ("0", "+0", "-0"):
        return 0
    found = _DURATION(written) if len(written) <= _LONGEST_DURATION else None
    if found is None:
        return None
    length = sum(_length(*part.groups(default="")) for part in _PART.finditer(found[2]))
    if length >= 2**63:
        return None
    return -length if found[1] == "-" else length


def _length(whole: str, fraction: str, unit: str) -> int:
    length, parts = _UNITS[unit], int("1" + "0" * len(fraction))
    return int(whole or 0) * length + int(fraction or 0) * length // parts
