"""The trees before and after a change as two outlines: the nodes that change, and their ancestors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from analysis.trees.walk import cycles_among
from policies.impact.quotas import NodeChange, PairChange, PairQuota, Quotas, amount_text
from policies.impact.yunikorn_quotas import GROUP as YUNIKORN
from policies.model.objects import Ref

MOST = 200
"""The most nodes in one outline."""
_MOST_AMOUNTS = 4
"""The most amounts of one node."""
IN_NO_TREE = "in no tree"
"""The tag of a node on or below a cycle."""
_NUMBERS = ("subtree", "own", "guaranteed", "reach")
"""The quotas of a node, by their names in PairQuota. The first of them that differs is shown."""


class OutlinedAmount(NamedTuple):
    """An amount of quota of a node in one of the two outlines.

    pair: "flavor/resource".
    number: which quota it is, one of _NUMBERS.
    amount: the amount as a text.
    width: the length of its bar, in percent of the longer bar in the two outlines.
    other: the length of the bar in the other outline.
    step: 1 if the amount grew, -1 if it shrank; 0 if it is unchanged, and in the outline before the change.
    """

    pair: str
    number: str
    amount: str
    width: float
    other: float
    step: int

    @property
    def kept(self) -> float:
        """The part of the bar that is in both outlines, in percent."""
        return min(self.width, self.other)


class OutlinedNode(NamedTuple):
    """A node in an outline.

    depth: 0 for a root, and for a node on a cycle.
    tags: the effects on the node.
    others: the number of its children that are not shown, since they do not change.
    """

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
    """The outlines before and after a change. Nodes on or below a cycle have no amounts.

    cycles: the new cycles, each as a text.
    more: the numbers of nodes beyond MOST, which are not shown, before and after.
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
    rootless_after, old_cycles = rootless(after), set(cycles_among(_parents(before)))
    was = tuple(_Side(before, changes, tags.before, tags.after, rootless_after, is_before=True).nodes())
    now = tuple(_Side(after, changes, tags.after, tags.before, rootless_after, is_before=False).nodes())
    new_cycles = (each for each in cycles_among(_parents(after)) if each not in old_cycles)
    cycle_texts = tuple(" -> ".join(ref.name for ref in (*each, each[0])) for each in new_cycles)
    return Outlines(was[:MOST], now[:MOST], cycle_texts, (max(0, len(was) - MOST), max(0, len(now) - MOST)))


def rootless(quotas: Quotas) -> frozenset[Ref]:
    """All nodes on a cycle or below one."""
    parents = _parents(quotas)
    children = _children(parents)
    found = {ref for each in cycles_among(parents) for ref in each}
    stack = list(found)
    while stack:
        below = [child for child in children.get(stack.pop(), ()) if child not in found]
        found.update(below)
        stack += below
    return frozenset(found)


def _parents(quotas: Quotas) -> dict[Ref, Ref | None]:
    """The parent of each node; None for a root, and if the parent has no quota."""
    by_name = {(ref.group, ref.name): ref for ref in quotas if ref.kind in ("Cohort", "Queue")}
    groups = {ref: YUNIKORN if ref.kind == "Namespace" else ref.group for ref in quotas}
    return {ref: by_name.get((groups[ref], node.parent)) if node.parent else None for ref, node in quotas.items()}


def _children(parents: Mapping[Ref, Ref | None]) -> dict[Ref | None, list[Ref]]:
    found: dict[Ref | None, list[Ref]] = {}
    for ref, parent in parents.items():
        found.setdefault(parent, []).append(ref)
    return found


class _Side:
    """One of the two outlines.

    tags, opposite: the tags of nodes on this side and on the other side.
    rootless_after: the nodes that have no root after the change.
    """

    def __init__(
        self,
        quotas: Quotas,
        changes: Mapping[Ref, NodeChange],
        tags: Mapping[Ref, tuple[str, ...]],
        opposite: Mapping[Ref, tuple[str, ...]],
        rootless_after: frozenset[Ref],
        *,
        is_before: bool,
    ) -> None:
        self._changes, self._tags, self._is_before = changes, tags, is_before
        self._rootless_after = rootless_after
        self._parents = _parents(quotas)
        self._cycles = cycles_among(self._parents)
        self._rootless = rootless(quotas)
        self._children = _children(self._parents)
        self._shown = set[Ref]()
        for ref in (*changes, *tags, *opposite):
            node = ref if ref in quotas else None
            while node is not None and node not in self._shown:
                self._shown.add(node)
                node = self._parents[node]

    def nodes(self) -> Iterator[OutlinedNode]:
        """Yield the nodes, parents before their children. Nodes on or below a cycle come last."""
        shown_on_cycles = [ref for cycle in self._cycles for ref in cycle if ref in self._shown]
        roots = [ref for ref in sorted(self._shown) if self._parents[ref] is None]
        on_cycles = {ref for cycle in self._cycles for ref in cycle}
        stack = [(0, ref) for ref in reversed([*roots, *shown_on_cycles])]
        while stack:
            depth, ref = stack.pop()
            children = [each for each in self._children.get(ref, ()) if each not in on_cycles]
            shown = sorted(each for each in children if each in self._shown)
            yield self._node(depth, ref, len(children) - len(shown))
            stack += ((depth + 1, each) for each in reversed(shown))

    def _node(self, depth: int, ref: Ref, others: int) -> OutlinedNode:
        change = self._changes.get(ref)
        tags = (*(self._change_tags(change) if change else ()), *self._tags.get(ref, ()))
        if ref in self._rootless:
            return OutlinedNode(depth, ref, (*tags, IN_NO_TREE), (), others)
        if change and ref in self._rootless_after:  # it has amounts on this side only
            amounts = tuple(map(_uncompared, change.pairs[:_MOST_AMOUNTS]))
        else:
            amounts = tuple(self._amount(each) for each in change.pairs[:_MOST_AMOUNTS]) if change else ()
        return OutlinedNode(depth, ref, tags, amounts, others)

    def _change_tags(self, change: NodeChange) -> Iterator[str]:
        if change.moved:
            yield "moves away" if self._is_before else "moved here"
        if change.after is None:
            yield "is deleted"
        if change.before is None:
            yield "is new"

    def _amount(self, change: PairChange) -> OutlinedAmount:
        number = next(
            (each for each in _NUMBERS if _value(change.before, each) != _value(change.after, each)), _NUMBERS[0]
        )
        was, now = _value(change.before, number), _value(change.after, number)
        here, there = (was, now) if self._is_before else (now, was)
        most = max(was or 0, now or 0, 1)
        width, other = (100.0 if each is None else round(100 * max(each, 0) / most, 1) for each in (here, there))
        step = 0 if self._is_before or was == now else 1 if now is None or (was is not None and now > was) else -1
        return OutlinedAmount(str(change.pair), number, amount_text(change.pair.resource, here), width, other, step)


def _uncompared(change: PairChange) -> OutlinedAmount:
    """The amount of a node that has no amounts after the change, so there is nothing to compare it with."""
    quota = _value(change.before, _NUMBERS[0])
    return OutlinedAmount(str(change.pair), _NUMBERS[0], amount_text(change.pair.resource, quota), 100.0, 100.0, 0)


def _value(quota: PairQuota, number: str) -> int | None:
    found: int | None = getattr(quota, number)
    return found
