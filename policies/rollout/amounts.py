"""Compares two amounts as manifests write them."""

from __future__ import annotations

from policies.model.errors import PolicyError
from policies.model.quantity import Quantity


def lower(was: object, now: object) -> object:
    """The lower of the two; the first one if one is not a quantity."""
    return was if _is_at_most(was, now) else now


def higher(was: object, now: object) -> object:
    """The higher of the two; the second one if one is not a quantity."""
    return now if _is_at_most(was, now) else was


def _is_at_most(was: object, now: object) -> bool:
    try:
        return Quantity.parse(was) <= Quantity.parse(now)
    except PolicyError:
        return True
