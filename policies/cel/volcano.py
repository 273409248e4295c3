"""Amounts of a Volcano queue in CEL."""

from __future__ import annotations

from policies.cel.expression import amount, of_spec, quantity

AMOUNTS = (
    *of_spec("guarantee", "guarantee", "resource"),
    *of_spec("deserved", "deserved"),
    *of_spec("capability", "capability"),
)


def amount_of(amounts: str, resource: str) -> str:
    """A CEL condition: the amount is a quantity of 0 or more, and whole for devices and pods."""
    value = f"{amounts}[{resource}]"
    whole = f"({resource} == 'pods' || ({resource}.contains('/') && !{resource}.contains('kubernetes.io/')))"
    number = f"{quantity(value)}.asApproximateFloat()"  # isInteger() is false for 2000m
    integer = f"({number} > 1e15 || double(int({number})) == {number})"
    return f"({amount(value)} && (!{whole} || {integer}))"


def amount_or_zero(amounts: str, resource: str) -> str:
    """A CEL expression for the amount; 0 if it is absent or not a quantity."""
    there = f"{resource} in {amounts} && {amount_of(amounts, resource)}"
    return f"({there} ? {quantity(f'{amounts}[{resource}]')} : quantity('0'))"
