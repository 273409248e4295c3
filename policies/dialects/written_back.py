"""Decides whether two values differ for a typed client, which may write a value that it has read in another form.

Such a client leaves out empty parts, adds empty parts, and writes quantities in Kubernetes' canonical form.
"""

from __future__ import annotations

from collections.abc import Mapping

from policies.model.quantity import canonical

_AMOUNTS = frozenset({"requests", "limits", "overhead", "resourceUsage"})
_AMOUNT = frozenset({"divisor", "sizeLimit"})


def differ(one: object, other: object) -> bool:
    return one != other and _written_back(one) != _written_back(other)


def _written_back(value: object, key: str = "") -> object:
    if isinstance(value, Mapping):
        if key in _AMOUNTS:
            return {name: canonical(each) for name, each in value.items()}
        read = ((name, _written_back(each, name)) for name, each in value.items())
        return {name: each for name, each in read if each}
    if isinstance(value, list):
        return [_written_back(each) for each in value]
    return canonical(value) if key in _AMOUNT and value else value
