"""Readable names of topology domains, such as "rack r2 of block b1"."""

from __future__ import annotations

from collections.abc import Sequence

from scheduling.topology.assignment import HOSTNAME


def level_word(level: str) -> str:
    """The last word of a node label: `rack` for `example.com/rack` and for `cloud.example.com/topology-rack`."""
    return "host" if level == HOSTNAME else level.rpartition("/")[2].rpartition("topology-")[2]


def domain_name(levels: Sequence[str], values: Sequence[str], *, whole: bool = True) -> str:
    """The name of the domain with these values, coarsest first.

    whole: whether the name has the ancestors of the domain. A host is named without them, since its name is unique.
    """
    words = [f"{level_word(level)} {value}" for level, value in zip(levels, values, strict=False)]
    if not whole or levels[len(words) - 1] == HOSTNAME:
        return words[-1]
    return " of ".join(reversed(words))
