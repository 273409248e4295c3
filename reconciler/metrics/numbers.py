"""Amounts as the numbers that metrics have."""

from __future__ import annotations

from math import inf


def quotient(nano: int, unit: int) -> float:
    """Infinite beyond what a float holds, which a Queue may name."""
    try:
        return nano / unit
    except OverflowError:
        return inf
