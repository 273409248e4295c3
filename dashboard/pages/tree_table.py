"""A tree as a table, in the order of the tree with some nodes folded, or sorted by a column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from dashboard.pages.formatting import UsageBar, bar_of, columns, node_text, page_start
from dashboard.pages.view import TreePageView
from dashboard.trees.tree import DialectTree, PairUsage, TreeNode, lent, natural, state_of

FoundRow = tuple[int, TreeNode, bool | None]
"""The depth of a node, the node, and whether its children are hidden; see `TableRow`."""
PAGE = 100
"""The maximum number of rows on one page. A tree with more rows is folded at first."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of the table. `folded`: whether the rows of its children are hidden; None if it cannot be folded."""

    depth: int
    node: TreeNode
    folded: bool | None
    state: str
    bar: UsageBar
    quota: str
    used: str
    share: str
    borrowed: str
    lent: str


@dataclass(frozen=True, slots=True)
class TablePage:
    """One page of the table.

    `first`, `last`: the numbers of its first and last row. `count`: the number of rows that are not folded away.
    `hidden`: the number of rows that are. `before`, `after`: the URLs of the previous and the next page, or empty.
    """

    rows: Sequence[TableRow]
    first: int
    last: int
    count: int
    hidden: int
    before: str
    after: str


def table(tree: DialectTree, view: TreePageView) -> TablePage:
    every, hidden = list(tree.walk(view.top)), 0
    if view.sort or view.text:
        found = _matching(tree, view, every)
    else:
        found = list(_folded(tree, view, large=len(every) > PAGE))
        hidden = len(every) - len(found)
    offset = page_start(view.offset, len(found), PAGE)
    shown = [_row(tree, view, *each) for each in islice(found, offset, offset + PAGE)]
    return TablePage(
        shown,
        offset + 1,
        min(len(found), offset + PAGE),
        len(found),
        hidden,
        view.url(offset=max(0, offset - PAGE)) if offset else "",
        view.url(offset=offset + PAGE) if offset + PAGE < len(found) else "",
    )


def _matching(tree: DialectTree, view: TreePageView, every: Sequence[tuple[int, TreeNode]]) -> list[FoundRow]:
    found: list[FoundRow] = [(0, node, None) for _, node in every if view.names(node)]
    if not view.sort:
        return found
    key = _key(tree, view)
    return [(0, node, None) for _, node, _ in sorted(found, key=lambda each: key(each[1]), reverse=not view.up)]


def _folded(tree: DialectTree, view: TreePageView, *, large: bool) -> Iterator[FoundRow]:
    """The rows in the order of the tree, parents first. In a large tree, only the top levels are unfolded at first."""
    tops = [view.top] if view.top else tree.children(None)
    opened = 1 if len(tops) == 1 else 0
    toggled = frozenset(view.toggled)
    heap = [(0, each) for each in reversed(tops)]
    while heap:
        depth, node = heap.pop()
        children = tree.children(node)
        closed = large and not view.unfolded and depth >= opened
        folded = closed != (node_text(node.key) in toggled) if children else None
        yield depth, node, folded
        if not folded:
            heap += ((depth + 1, child) for child in reversed(children))


def _key(tree: DialectTree, view: TreePageView) -> Callable[[TreeNode], Any]:
    keys: dict[str, Callable[[PairUsage], float]] = {
        "quota": lambda amounts: amounts.quota or 0,
        "used": lambda amounts: amounts.used,
        "share": lambda amounts: amounts.share,
        "borrowed": lambda amounts: amounts.borrowed,
    }
    if view.sort == "name":
        return lambda node: natural(node.name)
    if view.sort == "pending":
        return lambda node: node.waiting
    if view.sort == "lent":
        return lambda node: lent(tree, node, view.pair)
    return lambda node: keys[view.sort](node.amounts(view.pair))


def _row(tree: DialectTree, view: TreePageView, depth: int, node: TreeNode, folded: bool | None) -> TableRow:
    amounts = node.amounts(view.pair)
    state = state_of(tree, node, amounts)
    return TableRow(depth, node, folded, state, bar_of(amounts), *columns(tree, node, view.pair))
