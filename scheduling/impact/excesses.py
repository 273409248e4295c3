"""Compares the nodes that use more than they may, before and after a change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from policies.impact.quotas import Excess, QuotaPair
from policies.model.objects import Ref

Excesses: TypeAlias = Mapping[tuple[Ref, QuotaPair], Excess]


def by_node(found: Iterable[Excess]) -> Excesses:
    return {(each.ref, each.pair): each for each in found}


def grown(before: Excesses, after: Excesses) -> Iterator[Excess]:
    """Yield the excesses that are new, or larger than before."""
    for key, each in after.items():
        if key not in before or each.used - each.limit > before[key].used - before[key].limit:
            yield each
