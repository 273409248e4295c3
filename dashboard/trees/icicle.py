"""The picture of a tree as an icicle: a row for each depth, each node as wide as its quota, its children below it.

Only what can be seen is drawn: what would be too narrow to hit stands together in one block that leads to the table.
So a picture of 10 000 queues has as many blocks as one of 400.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from dashboard.trees.tree import Amounts, DialectTree, FlavorPair, TreeNode, total

WIDTH = 1200.0
ROW = 52.0
"""Height of a row. Both in units of the SVG's viewBox."""
_GAP = 3.0
ROWS = 5
"""Depths that are drawn at most."""
MOST = 400
"""Blocks in one picture."""
_NARROW = 14.0
"""A block that is narrower is not drawn by itself."""
_REST = 60.0
"""Width of the block that stands for all that are too narrow."""
_SIDE_BY_SIDE = 60
"""Children of one node that are drawn by themselves."""
_QUEUES = {"ClusterQueue", "Queue"}
_LETTER = 6.9
"""Width of a letter, and of what surrounds a text on both sides."""


@dataclass(frozen=True, slots=True)
class Block:
    """`node` None: it stands for `many` nodes, which are `called` so; with none, for the own quota of `parent`.

    `filled` is the width of what is used.
    """

    x: float
    y: float
    width: float
    height: float
    depth: int
    parent: TreeNode | None
    node: TreeNode | None
    many: int
    amounts: Amounts
    called: str = ""
    shared: int = 0
    """How many letters the names of all siblings have in common, up to a separator."""

    @property
    def filled(self) -> float:
        return round(self.width * min(1.0, self.amounts.share), 2)

    @property
    def within(self) -> float:
        """The width of what is used of its own quota; the rest of `filled` is borrowed."""
        used = self.amounts.used
        return round(self.filled * max(0, used - self.amounts.borrowed) / used, 2) if used > 0 else 0.0

    def text(self, name: str) -> str:
        """The part of a name that fits into the block: without what all siblings begin with, then its end."""
        if self._fits(name):
            return name
        if self.shared and self._fits(f"…{name[self.shared :]}"):
            return f"…{name[self.shared :]}"
        room = self._room
        end = room // 2
        return f"{name[: room - 1 - end]}…{name[-end:]}" if room > 2 else ""

    def numbers(self, *texts: str) -> str:
        """The first of these that fits as a whole, since a part of a number is another number."""
        return next(filter(self._fits, texts), "")

    @property
    def _room(self) -> int:
        return int((self.width - 2 * _LETTER) / _LETTER)

    def _fits(self, text: str) -> bool:
        return len(text) <= self._room


class _Space(NamedTuple):
    parent: TreeNode | None
    children: Sequence[TreeNode]
    x: float
    width: float
    depth: int
    above: Amounts | None
    shared: int = 0


def icicle(tree: DialectTree, top: TreeNode | None, pair: FlavorPair) -> list[Block]:
    """The blocks of `top` and its descendants; None: of all roots. Widths are proportional to the quota of `pair`."""
    begin = _Space(None, [top] if top else tree.children(None), 0.0, WIDTH, 0, None)
    drawn: list[Block] = []
    spaces = [begin]
    while spaces and len(drawn) < MOST:
        row: list[Block] = []
        for space in spaces:
            row += _side_by_side(space._replace(shared=_shared(space.children)), pair)
        drawn += row[: MOST - len(drawn)]
        spaces = [
            _Space(block.node, tree.children(block.node), block.x, block.width, block.depth + 1, block.amounts)
            for block in row
            if block.node is not None and block.depth + 1 < ROWS and tree.children(block.node)
        ]
    return drawn


def height(blocks: Sequence[Block]) -> float:
    return max((block.y + block.height for block in blocks), default=0.0)


def _side_by_side(space: _Space, pair: FlavorPair) -> Iterator[Block]:
    sized = [(node, node.amounts(pair)) for node in space.children]
    sized.sort(key=lambda each: -_weight(each[1]))  # the widest first, else as they stand
    weights = [_weight(amounts) for _, amounts in sized]
    own = 0
    if not any(weights):
        weights = [1] * len(sized)
    elif space.above:
        own = max(0, _weight(space.above) - sum(weights))
    whole = sum(weights) + own
    shown = sum(1 for weight in weights if space.width * weight / whole >= _NARROW)
    shown = min(shown, _SIDE_BY_SIDE, int(space.width // _NARROW))
    room = space.width
    if shown < len(sized):
        room = max(0.0, space.width - max(_NARROW, min(_REST, space.width / 4)))
        whole = sum(weights[:shown]) + own
    x, y = space.x, space.depth * (ROW + _GAP)
    for (node, amounts), weight in zip(sized[:shown], weights, strict=False):
        width = room * weight / whole
        yield _block(x, y, width, space, [node], amounts)
        x += width
    rest = [node for node, _ in sized[shown:]]
    if own and (width := room * own / whole) >= _NARROW:
        yield _block(x, y, width, space, [], Amounts(own, 0, 0, {}, {}))
        x += width
    if rest:
        yield _block(x, y, space.x + space.width - x, space, rest, total(rest, pair))


def _block(x: float, y: float, width: float, space: _Space, nodes: Sequence[TreeNode], amounts: Amounts) -> Block:
    gap = min(_GAP, width / 4)
    many, node = len(nodes), nodes[0] if len(nodes) == 1 else None
    called = "more" if many < len(space.children) else _together(nodes)
    shared = space.shared if node is not None else 0
    x, width = round(x, 2), round(width - gap, 2)
    return Block(x, y, width, ROW, space.depth, space.parent, node, many, amounts, called, shared)


def _shared(nodes: Sequence[TreeNode]) -> int:
    """The length of what all their names begin with, up to the last separator in it."""
    if len(nodes) < 2:
        return 0
    names = [node.name for node in nodes]
    first, last = min(names), max(names)  # all others are between these two
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))
    return max(first.rfind(separator, 0, alike) for separator in "-._/") + 1


def _together(nodes: Sequence[TreeNode]) -> str:
    kinds = {node.key.kind for node in nodes}
    return "queues" if kinds <= _QUEUES else f"{kinds.pop()}s" if len(kinds) == 1 else "nodes"


def _weight(amounts: Amounts) -> int:
    return amounts.quota or 0
