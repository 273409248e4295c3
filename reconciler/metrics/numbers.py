"""Conversion of amounts to the numbers of metrics."""

from __future__ import annotations

from math import inf


def quotient(nano: int, unit: int) -> float:
    """The quotient as a float; infinity if it is too large for a float, because a Queue may name such an amount."""
    try:
        return nano / unit
    except OverflowError:
        return inf
