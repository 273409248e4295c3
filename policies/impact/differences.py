"""Compares two states of quota: the nodes that differ, and whether they gain or lose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from policies.impact.quotas import NO_QUOTA, NodeQuotas, PairQuota, QuotaPair, Quotas
from policies.model.objects import Ref


class Effect(StrEnum):
    GAINS = "gains"
    """At least one number is larger, and none is smaller."""
    LOSES = "loses"
    """At least one number is smaller, and none is larger."""
    MIXED = "mixed"
    MOVES = "moves"
    """The parent is another one, and the numbers are the same."""


@dataclass(frozen=True, slots=True)
class PairChange:
    """The quota of a pair that differs."""

    pair: QuotaPair
    before: PairQuota
    after: PairQuota


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A node that differs.

    `before`: None for a created node.
    `after`: None for a deleted node.
    `pairs`: the pairs with different numbers, by name.
    """

    ref: Ref
    before: NodeQuotas | None
    after: NodeQuotas | None
    pairs: tuple[PairChange, ...]
    effect: Effect

    @property
    def moved(self) -> bool:
        return self.before is not None and self.after is not None and self.before.parent != self.after.parent

    @property
    def only_reach(self) -> bool:
        """Whether its own quota and its subtree are the same, and only changes of other nodes affect it."""
        if self.moved or self.before is None or self.after is None:
            return False
        return all(each.before[:3] == each.after[:3] for each in self.pairs)


def differences(before: Quotas, after: Quotas) -> list[NodeChange]:
    """The nodes that differ, by name."""
    return list(_differences(before, after))


def _differences(before: Quotas, after: Quotas) -> Iterator[NodeChange]:
    for ref in sorted(before.keys() | after.keys()):
        old, new = before.get(ref), after.get(ref)
        if old == new:
            continue
        pairs = tuple(_pairs(old, new))
        moved = old is not None and new is not None and old.parent != new.parent
        if pairs or moved or old is None or new is None:
            yield NodeChange(ref, old, new, pairs, _effect(old, new, pairs))


def _pairs(old: NodeQuotas | None, new: NodeQuotas | None) -> Iterator[PairChange]:
    listed = {*(old.amounts if old else ()), *(new.amounts if new else ())}
    for pair in sorted(listed):
        was, now = (node.of(pair) if node else NO_QUOTA for node in (old, new))
        if was != now:
            yield PairChange(pair, was, now)


def _effect(old: NodeQuotas | None, new: NodeQuotas | None, pairs: tuple[PairChange, ...]) -> Effect:
    if new is None:
        return Effect.LOSES
    if old is None:
        return Effect.GAINS
    steps = {_step(was, now) for each in pairs for was, now in zip(each.before, each.after, strict=True)} - {0}
    if not steps:
        return Effect.MOVES
    return Effect.MIXED if len(steps) == 2 else Effect.GAINS if steps == {1} else Effect.LOSES


def _step(was: int | None, now: int | None) -> int:
    """1 if the number is larger now, -1 if it is smaller, 0 if it is the same."""
    if was == now:
        return 0
    return 1 if now is None or (was is not None and now > was) else -1
