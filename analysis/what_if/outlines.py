"""The tree before and after a change as two outlines: what changes, and what is above it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from policies.impact.differences import NodeChange, PairChange
from policies.impact.quotas import NodeQuotas, PairQuota, Quotas, amount_text
from policies.impact.yunikorn_quotas import GROUP as YUNIKORN
from policies.model.objects import Ref

MOST = 200
"""Nodes of one outline."""
_MOST_PAIRS = 4
_NUMBERS = ("subtree", "own", "guaranteed", "reach")
"""The first that differs is shown."""


class OutlinedAmount(NamedTuple):
    """A number of a node. `width` is in percent of the larger of the two outlines; `step` is 1 if it grew, -1 if it
    shrank."""

    pair: str
    number: str
    amount: str
    width: float
    step: int


class OutlinedNode(NamedTuple):
    """`marks` say what happens to it. `others` counts children that do not change and are not shown."""

    depth: int
    ref: Ref
    marks: tuple[str, ...]
    amounts: tuple[OutlinedAmount, ...]
    others: int

    @property
    def changes(self) -> bool:
        return bool(self.marks or any(each.step for each in self.amounts))


class Outlines(NamedTuple):
    before: Sequence[OutlinedNode] = ()
    after: Sequence[OutlinedNode] = ()


NO_OUTLINES = Outlines()


@dataclass(frozen=True, slots=True)
class OutlineMarks:
    """What is said of nodes beside their quota: before the change, and after it."""

    before: Mapping[Ref, tuple[str, ...]] = field(default_factory=dict)
    after: Mapping[Ref, tuple[str, ...]] = field(default_factory=dict)


def outlines(before: Quotas, after: Quotas, nodes: Iterable[NodeChange], marks: OutlineMarks) -> Outlines:
    """Nodes that change or have a mark, with those above them, on both sides."""
    changes = {each.ref: each for each in nodes}
    return Outlines(
        tuple(_Side(before, changes, marks.before, marks.after, first=True).nodes())[:MOST],
        tuple(_Side(after, changes, marks.after, marks.before, first=False).nodes())[:MOST],
    )


class _Side:
    def __init__(
        self,
        quotas: Quotas,
        changes: Mapping[Ref, NodeChange],
        marks: Mapping[Ref, tuple[str, ...]],
        opposite: Mapping[Ref, tuple[str, ...]],
        *,
        first: bool,
    ) -> None:
        self._quotas, self._changes, self._marks, self._first = quotas, changes, marks, first
        self._parents = {(ref.group, ref.name): ref for ref in quotas if ref.kind in ("Cohort", "Queue")}
        self._children: dict[Ref | None, list[Ref]] = {}
        for node in quotas.values():
            self._children.setdefault(self._above(node), []).append(node.ref)
        self._shown = set[Ref]()
        for ref in (*changes, *marks, *opposite):
            at = quotas.get(ref)
            while at is not None and at.ref not in self._shown:
                self._shown.add(at.ref)
                above = self._above(at)
                at = quotas[above] if above else None

    def nodes(self) -> Iterator[OutlinedNode]:
        """Parents first. What is on a cycle has no root above it, and stands at the end."""
        left = dict.fromkeys(sorted(self._shown))
        heap = [(0, ref) for ref in reversed(left) if self._above(self._quotas[ref]) is None]
        while heap:
            depth, ref = heap.pop()
            del left[ref]
            children = self._children.get(ref, [])
            shown = sorted(each for each in children if each in self._shown)
            yield self._node(depth, ref, len(children) - len(shown))
            heap += ((depth + 1, each) for each in reversed(shown))
        for ref in left:
            yield self._node(0, ref, 0)

    def _above(self, node: NodeQuotas) -> Ref | None:
        """Its parent; None for a root, or where the parent has no quota of its own kind."""
        group = YUNIKORN if node.ref.kind == "Namespace" else node.ref.group
        return self._parents.get((group, node.parent)) if node.parent else None

    def _node(self, depth: int, ref: Ref, others: int) -> OutlinedNode:
        change = self._changes.get(ref)
        marks = (*(self._happens(change) if change else ()), *self._marks.get(ref, ()))
        amounts = tuple(self._amount(each) for each in change.pairs[:_MOST_PAIRS]) if change else ()
        return OutlinedNode(depth, ref, marks, amounts, others)

    def _happens(self, change: NodeChange) -> Iterator[str]:
        if change.moved:
            yield "moves away" if self._first else "moved here"
        if change.after is None:
            yield "is deleted"
        if change.before is None:
            yield "is new"

    def _amount(self, change: PairChange) -> OutlinedAmount:
        number = next((each for each in _NUMBERS if _of(change.before, each) != _of(change.after, each)), _NUMBERS[0])
        was, now = _of(change.before, number), _of(change.after, number)
        here = was if self._first else now
        most = max(was or 0, now or 0, 1)
        width = 100.0 if here is None else round(100 * max(here, 0) / most, 1)
        step = 0 if self._first or was == now else 1 if now is None or (was is not None and now > was) else -1
        return OutlinedAmount(str(change.pair), number, amount_text(change.pair.resource, here), width, step)


def _of(quota: PairQuota, number: str) -> int | None:
    found: int | None = getattr(quota, number)
    return found
