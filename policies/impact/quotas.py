"""The quota of a node as four numbers that apply to Kueue, Volcano and YuniKorn, and how two states of it differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from policies.model.objects import Ref
from policies.model.quantity import Quantity

_BINARY = ("memory", "ephemeral-storage")


class QuotaPair(NamedTuple):
    """A resource, with its flavor in Kueue. `flavor`: empty for Volcano and YuniKorn."""

    flavor: str
    resource: str

    def __str__(self) -> str:
        return f"{self.flavor}/{self.resource}" if self.flavor else self.resource


class PairQuota(NamedTuple):
    """The quota of a node for a pair, in nano units (1e-9 of the resource's unit). None stands for unlimited.

    `own`: the amount in its manifest: `nominalQuota`, `deserved` or `max`.
    `subtree`: the quota of the node and its descendants, without borrowing.
    `guaranteed`: the amount that no other node can use.
    `reach`: the most that it could use if all other nodes were idle.
    """

    own: int | None = 0
    subtree: int | None = 0
    guaranteed: int | None = 0
    reach: int | None = 0


NO_QUOTA = PairQuota()


@dataclass(frozen=True, slots=True)
class NodeQuotas:
    """A node with its quota.

    `parent`: the name of its parent; empty for a root.
    `unlisted`: its quota of every pair that is not in `amounts`.
    """

    ref: Ref
    parent: str
    amounts: Mapping[QuotaPair, PairQuota] = field(default_factory=dict)
    unlisted: PairQuota = NO_QUOTA

    def of(self, pair: QuotaPair) -> PairQuota:
        return self.amounts.get(pair, self.unlisted)


Quotas = Mapping[Ref, NodeQuotas]


@dataclass(frozen=True, slots=True)
class Excess:
    """A node that uses more of a pair than it may, in nano units.

    `limit`: in Kueue the subtree quota plus `borrowingLimit`, for a root only the subtree quota; in Volcano the
    realCapability; in YuniKorn the max.
    """

    ref: Ref
    pair: QuotaPair
    used: int
    limit: int


def amount_text(resource: str, nano: int | None) -> str:
    """The amount as Kubernetes writes it. Memory is written in decimal units, such as 10G, only if that is shorter."""
    if nano is None:
        return "unlimited"
    decimal = str(Quantity.of_nano(nano))
    if resource not in _BINARY:
        return decimal
    binary = str(Quantity.of_nano(nano, "BinarySI"))
    return decimal if len(decimal) + 1 < len(binary) else binary  # 1 for the `i` of a binary unit


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
