"""How Go reads booleans and integers from strings. Source: Go, strconv: ParseBool, ParseInt and Atoi with base 10."""

from __future__ import annotations

import re
from typing import Final

TRUE = frozenset(["1", "t", "T", "TRUE", "true", "True"])
FALSE = frozenset(["0", "f", "F", "FALSE", "false", "False"])
"""All other strings are not booleans."""
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_LONGEST = 20  # digits of the largest number of 64 bits


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
