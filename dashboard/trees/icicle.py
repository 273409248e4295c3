"""The picture of a tree as an icicle: a row for each depth, each node as wide as its quota, its children below it.

No block is narrower than its name. Where that leaves no room for all children of a node, those that are too narrow are
tiles of equal size below each other, in the order of their names; where the parent is narrow, all are that have no
children, so that two siblings of the same quota look the same. What is left after that stands together in one tile
that leads to the table. So a picture of 10 000 queues has as many blocks as one of 400.

On a narrow screen children with children of their own are bands below each other where their columns would be narrower
than the names in them. A band has the whole width, as the tiles in it do: nothing in it is to scale.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise, takewhile
from math import ceil
from typing import NamedTuple

from dashboard.trees.tree import DialectTree, FlavorPair, NodeKey, PairUsage, TreeNode, natural, state_of, total

WIDE, NARROW = 1200.0, 360.0
"""Widths of the pictures, for two kinds of screens."""
ROW, TILE = 52.0, 26.0
"""Heights. All in units of the SVG's viewBox."""
_GAP = 3.0
ROWS = 5
"""Depths that are drawn at most."""
MOST = 400
"""Blocks in one picture."""
_TILE_ROWS = 16
"""Tiles below each other."""
_BANDS, _INDENT = 8, 8.0
"""The most bands below each other, and the indentation of what is in one."""
_FEWEST_ROWS, _HEAD_ROWS = 2, 2
"""Rows of tiles that a band has at least, and as many as the first block of a band takes."""
_LEAST, _ENOUGH = 24.0, 150.0
"""The width that every block needs, and the one beyond which a name is shortened rather than given more."""
_LEAST_PARENT = 64.0
"""The width that a block with children needs: they have no more."""
_LEAST_TILE = 56.0
"""So a picture has no more than 21 tiles beside each other."""
_NUMBERS, _ROOMY = 75.0, 220.0
"""The width that a tile should have beside its whole name, and the one that is enough for both."""
_OWN = 40.0
"""The width that a parent's own quota needs."""
MARKED = ("over", "stopped", "inactive")
"""States that have a mark."""
MARK, BESIDE = 15.0, 7.0
"""The width of a mark before a name, and between two things in a block."""
_QUEUES = {"ClusterQueue", "Queue"}
_LETTER = 6.9
"""Width of a letter of a number, and of what surrounds a text on both sides."""
_WIDTHS = defaultdict(lambda: 8.2, {**dict.fromkeys("fijlrtI.,:;'|!-()[]/ ", 4.8), **dict.fromkeys("mwMW…%@", 12.7)})
"""Widths of the letters of names, in a broad font: no name is wider than its block in any other."""


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
    amounts: PairUsage
    called: str = ""
    shared: int = 0
    tail: int = 0
    """How many letters the names of all siblings have in common, at their beginning and at their end."""
    apart: int = 0
    """How many letters of the rest tell them apart, from its beginning."""

    @property
    def tile(self) -> bool:
        return self.height < ROW

    @property
    def bar(self) -> float:
        """The height of the bar at the bottom."""
        return 7.0 if self.tile else 12.0

    @property
    def filled(self) -> float:
        return 0.0 if self.amounts.unbounded else round(self.width * min(1.0, self.amounts.share), 2)

    @property
    def within(self) -> float:
        """The width of what is used of its own quota; the rest of `filled` is borrowed."""
        return self._part(self.amounts.used - max(self.amounts.borrowed, self.amounts.over))

    @property
    def allowed(self) -> float:
        """The width of what may be used; the rest of `filled` is beyond quota and borrowing limit."""
        return self._part(self.amounts.used - self.amounts.over)

    def _part(self, amount: int) -> float:
        used = self.amounts.used
        return round(self.filled * max(0, amount) / used, 2) if used > 0 else 0.0

    def text(self, name: str, taken: float = 0.0) -> str:
        """The part of a name that fits into the block: without what all siblings begin with, then with as much as fits
        of what all end with, then the beginning of the rest, or both of its ends where the beginning is that of a
        sibling as well. A cut is marked with "…", unless the room at the beginning is needed for letters.

        `taken` is the width that other things need beside it.
        """
        room = self._room(taken)
        begun, own = "…" if self.shared else "", name[self.shared :]
        least = own[: len(own) - self.tail]
        ends = (f"{begun}{own[:letters]}…" for letters in range(_most(own, room), len(least) - 1, -1))
        rest = (f"{mark}{text}" for mark in (begun, "") for text in _shortened(least, room, self.apart))
        texts = chain((name, begun + own), ends if self.tail else (), rest)
        return next((text for text in texts if width_of(text) <= room), "")

    def numbers(self, *texts: str, taken: float = 0.0) -> str:
        """The first of these that fits as a whole, since a part of a number is another number."""
        room = self._room(taken)
        return next((text for text in texts if number_width(text) <= room), "")

    def _room(self, taken: float) -> float:
        return self.width - 2 * _LETTER - taken


def width_of(name: str) -> float:
    """The width of a name, without what surrounds it."""
    return sum(map(_WIDTHS.__getitem__, name))


def number_width(text: str) -> float:
    """The width of a number, which is written smaller."""
    return len(text) * _LETTER


def _most(name: str, room: float) -> int:
    """How many of its letters may fit; never all of them."""
    return min(len(name) - 1, int(room / _LETTER) + 1)


def _shortened(name: str, room: float, apart: int) -> Iterator[str]:
    """The beginning of the name, or both ends, the longest text first; none has less than two letters."""
    for letters in range(_most(name, room), 1, -1):
        end = 0 if letters >= apart else (letters + 1) // 2
        yield f"{name[: letters - end]}…{name[len(name) - end :]}"


class _Space(NamedTuple):
    parent: TreeNode | None
    children: Sequence[TreeNode]
    x: float
    width: float
    depth: int
    y: float
    above: PairUsage | None
    shared: int = 0
    tail: int = 0
    apart: int = 0
    narrow: bool = False
    """The picture is for a narrow screen."""
    band: bool = False
    """It is within a band."""
    rows: int = _TILE_ROWS
    """Tiles below each other at most."""


class _Sized(NamedTuple):
    """A child; no node: the parent's own quota. `needs` is the least width beside others, `least` that of its name, and
    `badge` that of the number beside it.
    """

    node: TreeNode | None
    amounts: PairUsage
    needs: float
    least: float
    badge: float = 0.0

    @property
    def weight(self) -> int:
        return self.amounts.quota or 0


def icicle(
    tree: DialectTree,
    top: TreeNode | None,
    pair: FlavorPair,
    width: float = WIDE,
    only: Collection[NodeKey] | None = None,
) -> list[Block]:
    """The blocks of `top` and its descendants; None: of all roots. Widths are proportional to the quota of `pair`.

    Roots without the pair are left out if others have it. `only`: the nodes to draw, if not all.
    """
    first = [top] if top else _roots(tree, pair)
    space = _Space(None, _among(first, only), 0.0, width, 0, 0.0, None, narrow=width <= NARROW)
    return _filled(tree, space, pair, only, MOST)


def _filled(
    tree: DialectTree, space: _Space, pair: FlavorPair, only: Collection[NodeKey] | None, most: int
) -> list[Block]:
    """The blocks of a space and of all below it, no more than `most`."""
    drawn: list[Block] = []
    spaces = [space]
    while spaces and len(drawn) < most:
        row: list[Block] = []
        for each in spaces:
            shared, tail, apart = _shared([child.name for child in each.children])
            named = each._replace(shared=shared, tail=tail, apart=apart)
            sized = _children(tree, named, pair, whole=only is None)
            if bands := _bands(tree, named, sized):
                drawn += _stacked(tree, named, sized, bands, pair, only, most - len(drawn))
            else:
                row += _below(tree, named, sized, pair)
        drawn += row[: most - len(drawn)]
        spaces = [
            _Space(each.node, found, each.x, each.width, each.depth + 1, each.y + ROW + _GAP, each.amounts)._replace(
                narrow=space.narrow
            )
            for each in row
            if each.node is not None and not each.tile and (found := _drawn_below(tree, each, only))
        ]
    return drawn


def _drawn_below(tree: DialectTree, block: Block, only: Collection[NodeKey] | None) -> Sequence[TreeNode]:
    return _among(tree.children(block.node), only) if block.depth + 1 < ROWS else ()


def _roots(tree: DialectTree, pair: FlavorPair) -> Sequence[TreeNode]:
    return [each for each in tree.children(None) if each.has(pair)] or tree.children(None)


def _among(nodes: Sequence[TreeNode], only: Collection[NodeKey] | None) -> Sequence[TreeNode]:
    return nodes if only is None else [each for each in nodes if each.key in only]


def height(blocks: Sequence[Block]) -> float:
    return max((block.y + block.height for block in blocks), default=0.0)


def _children(tree: DialectTree, space: _Space, pair: FlavorPair, *, whole: bool) -> list[_Sized]:
    """The widest first. `whole`: no child is left out, so that in Kueue what they do not have is the parent's own."""
    sized = [_sized(tree, space, node, pair) for node in space.children]
    sized.sort(key=lambda each: -each.weight)  # else as they stand
    held = sum(each.weight for each in sized)
    kueue = space.parent is not None and space.parent.dialect == "Kueue"
    if whole and kueue and space.above and held and (own := (space.above.quota or 0) - held) > 0:
        sized.append(_Sized(None, PairUsage(own, 0, 0, {}, {}), _OWN, _OWN))
    return sized


def _bands(tree: DialectTree, space: _Space, sized: Sequence[_Sized]) -> list[_Sized]:
    """The children that have to be bands; empty if all names fit side by side, or bands do not fit."""
    parents = [each for each in sized if each.node is not None and tree.children(each.node)]
    if not space.narrow or not 0 < len(parents) <= _BANDS or space.depth + 1 >= ROWS:
        return []
    if space.band:
        return parents if _rows(space, len(parents)) >= _FEWEST_ROWS else []
    widths = dict(zip(map(id, sized), _widths(sized, space.width), strict=True))
    return parents if len(sized) > 1 and any(widths[id(each)] < _named_below(tree, each) for each in parents) else []


def _rows(space: _Space, bands: int) -> int:
    return (space.rows - _HEAD_ROWS * (bands - 1)) // bands


def _named_below(tree: DialectTree, sized: _Sized) -> float:
    """The width that the names of a child and of its own children need; of too many children only a part is drawn."""
    names = [each.name for each in tree.children(sized.node)]
    own = sized.needs + sized.badge
    if len(names) > _TILE_ROWS * _BANDS:
        return own
    cut = _shared(names)[0]
    longest = max(width_of(f"…{name[cut:]}" if cut else name) for name in names)
    return max(own, min(_ENOUGH, longest + 2 * _LETTER + _GAP + 2 * BESIDE))


def _stacked(
    tree: DialectTree,
    space: _Space,
    sized: Sequence[_Sized],
    bands: Sequence[_Sized],
    pair: FlavorPair,
    only: Collection[NodeKey] | None,
    most: int,
) -> list[Block]:
    """The bands below each other, each with all below it, after tiles for the other children."""
    others = [each for each in sized if each not in bands]
    drawn = list(_tiles(space, others, pair)) if others else []
    rows = max(_FEWEST_ROWS, _rows(space, len(bands)))
    for each in bands:
        y = height(drawn) + (2 * _GAP if drawn else space.y)
        block = _block(space.x, y, space.width, ROW, space, each)
        drawn.append(block)
        if children := _drawn_below(tree, block, only):
            room = space.width - _INDENT
            at = (space.x + _INDENT, room, block.depth + 1, y + ROW + _GAP, block.amounts)
            below = _Space(block.node, children, *at, narrow=True, band=True, rows=rows)
            drawn += _filled(tree, below, pair, only, most - len(drawn))
    return drawn[:most]


def _below(tree: DialectTree, space: _Space, sized: Sequence[_Sized], pair: FlavorPair) -> Iterator[Block]:
    if space.band:  # beside a band only tiles have no size that means something else
        yield from _tiles(space, list(sized), pair)
        return
    if sum(each.needs for each in sized) <= space.width:
        yield from _side_by_side(space, sized, space.width)
        return
    tiles = min(_tile_width(space, sized) * ceil(len(sized) / _TILE_ROWS), space.width / 2)
    total_weight = sum(each.weight for each in sized) or 1
    wide, rest = list[_Sized](), list[_Sized]()
    for each in sized:
        fits = (space.width - tiles) * each.weight / total_weight >= each.needs
        (wide if fits else rest).append(each)
    if space.width <= NARROW and len(sized) <= _TILE_ROWS:
        leaves = [each for each in wide if each.node is None or not tree.children(each.node)]
        wide, rest = [each for each in wide if each not in leaves], leaves + rest
    tiles = max(tiles, space.width * sum(each.weight for each in rest) / total_weight) if wide else space.width
    yield from _side_by_side(space, wide, space.width - tiles)
    yield from _tiles(space._replace(x=space.x + space.width - tiles, width=tiles), rest, pair)


def _sized(tree: DialectTree, space: _Space, node: TreeNode, pair: FlavorPair) -> _Sized:
    amounts, cut = node.amounts(pair), f"…{node.name[space.shared :]}" if space.shared else node.name
    named = min(width_of(node.name), width_of(cut)) + 2 * _LETTER + _GAP + 1
    if state_of(tree, node, amounts) in MARKED:
        named += MARK
    named = min(_ENOUGH, named)
    badge = number_width(str(node.waiting)) + 2 * BESIDE if node.waiting else 0.0
    if tree.children(node):  # the picture loses a depth where these do not fit beside each other
        return _Sized(node, amounts, max(named, _LEAST_PARENT), max(named, _LEAST_PARENT), badge)
    return _Sized(node, amounts, max(named + badge, _LEAST), max(named, _LEAST), badge)


def _side_by_side(space: _Space, sized: Sequence[_Sized], room: float) -> Iterator[Block]:
    x = space.x
    for each, width in zip(sized, _widths(sized, room), strict=True):
        yield _block(x, space.y, width, ROW, space, each)
        x += width


def _widths(sized: Sequence[_Sized], room: float) -> list[float]:
    """Their widths are proportional to their quota; none is narrower than it needs."""
    weights = [each.weight for each in sized] if any(each.weight for each in sized) else [1] * len(sized)
    least: set[int] = set()
    while True:
        left = room - sum(sized[at].needs for at in least)
        whole = sum(weight for at, weight in enumerate(weights) if at not in least) or 1
        more = {at for at, each in enumerate(sized) if at not in least and left * weights[at] / whole < each.needs}
        if not more:
            return [each.needs if at in least else left * weights[at] / whole for at, each in enumerate(sized)]
        least |= more


def _tile_width(space: _Space, sized: Sequence[_Sized]) -> float:
    """Room for all badges, unless that leaves out queues."""
    needs = max(_LEAST_TILE, *(each.least + each.badge for each in sized))
    if len(sized) > space.width // needs * space.rows:
        needs = max(_LEAST_TILE, *(each.least for each in sized))
    return min(space.width, needs)


def _tiles(space: _Space, sized: list[_Sized], pair: FlavorPair) -> Iterator[Block]:
    """In the order of their names; where there are too many, first those with pending work, then the most used."""
    columns = max(1, int(space.width // _tile_width(space, sized)))
    longest = max((width_of(each.node.name) for each in sized if each.node), default=0.0)
    roomy = int(space.width // min(_ROOMY, longest + _NUMBERS))
    columns = max(1, min(columns, max(roomy, ceil(len(sized) / space.rows))))
    most, rest = columns * space.rows, list[TreeNode]()
    if len(sized) > most:
        sized.sort(key=lambda each: (-each.node.waiting if each.node else 0, -each.amounts.used, -each.weight))
        rest = [each.node for each in sized[most - 1 :] if each.node is not None]
        sized = sized[: most - 1]
    named = sorted(sized, key=lambda each: (each.node is None, natural(each.node.name) if each.node else []))
    rows = ceil((len(named) + bool(rest)) / columns)
    columns = ceil((len(named) + bool(rest)) / rows)
    width = space.width / columns
    places = [
        (space.x + turn % columns * width, space.y + turn // columns * (TILE + _GAP))
        for turn in range(len(named) + bool(rest))
    ]
    for (x, y), each in zip(places, named, strict=False):
        yield _block(x, y, width, TILE, space, each)
    if rest:
        called = "more" if named or len(rest) < len(space.children) else _together(rest)
        found = _block(*places[-1], width, TILE, space, _Sized(None, total(rest, pair), 0.0, 0.0))
        yield replace(found, many=len(rest), called=called)


def _block(x: float, y: float, width: float, height: float, space: _Space, sized: _Sized) -> Block:
    gap = min(_GAP, width / 4)
    node, x, width = sized.node, round(x, 2), round(width - gap, 2)
    many, *alike = (1, space.shared, space.tail, space.apart) if node is not None else (0, 0, 0, 0)
    return Block(x, y, width, height, space.depth, space.parent, node, many, sized.amounts, "", *alike)


def _shared(names: Sequence[str]) -> tuple[int, int, int]:
    """The lengths of what all of them begin and end with, up to a separator, and of what tells the rest apart.

    Something is left of each name.
    """
    if len(names) < 2:
        return 0, 0, 0
    start, end = _alike(names), _alike([name[::-1] for name in names])
    end = end if start + end < min(map(len, names)) else 0
    rest = sorted(name[start : len(name) - end] for name in names)
    return start, end, 1 + max(_common(*pair) for pair in pairwise(rest))


def _alike(names: Sequence[str]) -> int:
    """The length of what all begin with, up to the last separator in it."""
    first, last = min(names), max(names)  # all others are between these two
    alike = _common(first, last)
    return max(first.rfind(separator, 0, alike) for separator in "-._/") + 1


def _common(first: str, second: str) -> int:
    """How many letters both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def _together(nodes: Sequence[TreeNode]) -> str:
    kinds = {node.key.kind for node in nodes}
    return "queues" if kinds <= _QUEUES else f"{kinds.pop()}s" if len(kinds) == 1 else "nodes"
