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
IN_NO_TREE = "in no tree"
"""The tag of a node on or below a cycle."""
_NUMBERS = ("subtree", "own", "guaranteed", "reach")
"""The first that differs is shown."""


class OutlinedAmount(NamedTuple):
    """A number of a node. `width` is in percent of the larger of the two outlines, and `other` that of the opposite
    one; `step` is 1 if it grew, -1 if it shrank. `number` is one of _NUMBERS."""

    pair: str
    number: str
    amount: str
    width: float
    other: float
    step: int

    @property
    def kept(self) -> float:
        """The width that both outlines share."""
        return min(self.width, self.other)


class OutlinedNode(NamedTuple):
    """`tags`: what happens to the node. `others`: the number of unchanged children, which are not shown."""

    depth: int
    ref: Ref
    tags: tuple[str, ...]
    amounts: tuple[OutlinedAmount, ...]
    others: int

    @property
    def rest(self) -> str:
        """The line about the children that are not shown; empty if all are."""
        if not self.others:
            return ""
        if IN_NO_TREE in self.tags:
            return f"and {self.others} below it, {IN_NO_TREE} either"
        return f"and {self.others} below that {'do' if self.others > 1 else 'does'} not change"

    @property
    def changes(self) -> bool:
        return bool(self.tags or any(each.step for each in self.amounts))


class Outlines(NamedTuple):
    """`cycles`: the new cycles, each as a text. Nodes on or below a cycle have no numbers.

    `more`: how many nodes of the two sides are not shown.
    """

    before: Sequence[OutlinedNode] = ()
    after: Sequence[OutlinedNode] = ()
    cycles: Sequence[str] = ()
    more: tuple[int, int] = (0, 0)


NO_OUTLINES = Outlines()


@dataclass(frozen=True, slots=True)
class OutlineTags:
    """The tags of nodes before and after the change."""

    before: Mapping[Ref, tuple[str, ...]] = field(default_factory=dict)
    after: Mapping[Ref, tuple[str, ...]] = field(default_factory=dict)


def outlines(before: Quotas, after: Quotas, nodes: Iterable[NodeChange], tags: OutlineTags) -> Outlines:
    """The nodes that change or have a tag, and their ancestors, before and after."""
    changes = {each.ref: each for each in nodes}
    lost, known = rootless(after), set(cycles(before))
    was = tuple(_Side(before, changes, tags.before, tags.after, lost, first=True).nodes())
    now = tuple(_Side(after, changes, tags.after, tags.before, lost, first=False).nodes())
    named = tuple(" -> ".join(ref.name for ref in (*each, each[0])) for each in cycles(after) if each not in known)
    return Outlines(was[:MOST], now[:MOST], named, (max(0, len(was) - MOST), max(0, len(now) - MOST)))


def cycles(quotas: Quotas) -> list[tuple[Ref, ...]]:
    """Nodes whose parents lead back to them: each cycle once, upwards from its first node by name."""
    parents = _parents(quotas)
    found, settled = [], set[Ref]()
    for start in sorted(quotas):
        way: dict[Ref, None] = {}
        at: Ref | None = start
        while at is not None and at not in settled and at not in way:
            way[at] = None
            at = _above(quotas[at], parents)
        if at in way:
            steps = list(way)
            circle = steps[steps.index(at) :]
            first = circle.index(min(circle))
            found.append((*circle[first:], *circle[:first]))
        settled.update(way)
    return found


def rootless(quotas: Quotas) -> frozenset[Ref]:
    """All nodes on a cycle or below one."""
    lost = {ref for each in cycles(quotas) for ref in each}
    parents, rooted = _parents(quotas), set[Ref]()
    for start in quotas if lost else ():
        way, at = list[Ref](), start
        while at not in lost and at not in rooted:
            way.append(at)
            if (above := _above(quotas[at], parents)) is None:
                rooted.update(way)
                break
            at = above
        (lost if at in lost else rooted).update(way)
    return frozenset(lost)


def _parents(quotas: Quotas) -> dict[tuple[str, str], Ref]:
    """What can be a parent, by group and name."""
    return {(ref.group, ref.name): ref for ref in quotas if ref.kind in ("Cohort", "Queue")}


def _above(node: NodeQuotas, parents: Mapping[tuple[str, str], Ref]) -> Ref | None:
    """Its parent; None for a root, or where the parent has no quota of its own kind."""
    group = YUNIKORN if node.ref.kind == "Namespace" else node.ref.group
    return parents.get((group, node.parent)) if node.parent else None


class _Side:
    def __init__(
        self,
        quotas: Quotas,
        changes: Mapping[Ref, NodeChange],
        tags: Mapping[Ref, tuple[str, ...]],
        opposite: Mapping[Ref, tuple[str, ...]],
        lost: frozenset[Ref],
        *,
        first: bool,
    ) -> None:
        self._quotas, self._changes, self._tags, self._first = quotas, changes, tags, first
        self._lost = lost
        self._parents = _parents(quotas)
        self._circles = cycles(quotas)
        self._rootless = rootless(quotas)
        self._children: dict[Ref | None, list[Ref]] = {}
        for node in quotas.values():
            self._children.setdefault(self._above(node), []).append(node.ref)
        self._shown = set[Ref]()
        for ref in (*changes, *tags, *opposite):
            at = quotas.get(ref)
            while at is not None and at.ref not in self._shown:
                self._shown.add(at.ref)
                above = self._above(at)
                at = quotas[above] if above else None

    def nodes(self) -> Iterator[OutlinedNode]:
        """Parents first. What is on a cycle, or below one, is in no tree: it stands at the end, without numbers."""
        circled = [ref for circle in self._circles for ref in circle if ref in self._shown]
        tops = [ref for ref in sorted(self._shown) if self._above(self._quotas[ref]) is None]
        known = {ref for circle in self._circles for ref in circle}
        heap = [(0, ref) for ref in reversed([*tops, *circled])]
        while heap:
            depth, ref = heap.pop()
            children = [each for each in self._children.get(ref, ()) if each not in known]
            shown = sorted(each for each in children if each in self._shown)
            yield self._node(depth, ref, len(children) - len(shown))
            heap += ((depth + 1, each) for each in reversed(shown))

    def _above(self, node: NodeQuotas) -> Ref | None:
        return _above(node, self._parents)

    def _node(self, depth: int, ref: Ref, others: int) -> OutlinedNode:
        change = self._changes.get(ref)
        tags = (*(self._happens(change) if change else ()), *self._tags.get(ref, ()))
        if ref in self._rootless:
            return OutlinedNode(depth, ref, (*tags, IN_NO_TREE), (), others)
        if change and ref in self._lost:  # only here does it have a number
            amounts = tuple(map(_lone, change.pairs[:_MOST_PAIRS]))
        else:
            amounts = tuple(self._amount(each) for each in change.pairs[:_MOST_PAIRS]) if change else ()
        return OutlinedNode(depth, ref, tags, amounts, others)

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
        here, there = (was, now) if self._first else (now, was)
        most = max(was or 0, now or 0, 1)
        width, other = (100.0 if each is None else round(100 * max(each, 0) / most, 1) for each in (here, there))
        step = 0 if self._first or was == now else 1 if now is None or (was is not None and now > was) else -1
        return OutlinedAmount(str(change.pair), number, amount_text(change.pair.resource, here), width, other, step)


def _lone(change: PairChange) -> OutlinedAmount:
    """A number that nothing is compared with."""
    quota = _of(change.before, _NUMBERS[0])
    return OutlinedAmount(str(change.pair), _NUMBERS[0], amount_text(change.pair.resource, quota), 100.0, 100.0, 0)


def _of(quota: PairQuota, number: str) -> int | None:
    found: int | None = getattr(quota, number)
    return found
