"""Lays out a tree as an icicle chart: one row for each depth. A block is as wide as the quota of its node, and the
blocks of the node's children are below it.

A block is at least as wide as its name. If there is not enough room for all children of a node, the narrow ones become
tiles: blocks of equal size, stacked in columns in the order of their names. On a narrow screen, all children without
children become tiles then, so that siblings with equal quota look the same. If there are too many tiles, the last one
stands for all others and links to the table. Therefore a drawing of 10 000 queues has at most 400 blocks.

On a narrow screen, children that have children may become bands, if their columns would be narrower than the names in
them. Bands are stacked and have the whole width. Widths in a band are not to scale.
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
"""The widths of drawings for wide and for narrow screens, in viewBox units."""
ROW, TILE = 52.0, 26.0
"""The heights of a row and of a tile, in viewBox units. All other lengths are in the same units."""
_GAP = 3.0
ROWS = 5
"""The maximum depth that is drawn."""
MOST = 400
"""The maximum number of blocks in one drawing."""
_TILE_ROWS = 16
"""The maximum number of stacked tiles."""
_BANDS, _INDENT = 8, 8.0
"""The maximum number of stacked bands, and the indentation of the blocks in a band."""
_FEWEST_ROWS, _HEAD_ROWS = 2, 2
"""The minimum number of rows of tiles in a band, and the height of a band's first block in such rows."""
_LEAST, _ENOUGH = 24.0, 150.0
"""The minimum width of a block, and the maximum width that a name may require. Longer names are cut."""
_LEAST_PARENT = 64.0
"""The minimum width of a block with children, which have to fit into this width."""
_LEAST_TILE = 56.0
"""The minimum width of a tile. It limits a drawing to 21 columns of tiles."""
_NUMBERS, _ROOMY = 75.0, 220.0
"""The room for numbers that a tile should have in addition to its name, and the width that is always enough."""
_OWN = 40.0
"""The minimum width of the block for a parent's own quota."""
MARKED = ("over", "stopped", "inactive")
"""The states that are shown by a mark."""
MARK, BESIDE = 15.0, 7.0
"""The width of a mark before a name, and the space between two texts in a block."""
_QUEUES = {"ClusterQueue", "Queue"}
_LETTER = 6.9
"""The width of a digit, which is also the space on each side of a text."""
_WIDTHS = defaultdict(lambda: 8.2, {**dict.fromkeys("fijlrtI.,:;'|!-()[]/ ", 4.8), **dict.fromkeys("mwMW…%@", 12.7)})
"""The widths of letters in names, in a wide font, so that no name is wider than its block in another font."""


@dataclass(frozen=True, slots=True)
class Block:
    """A rectangle of the drawing, in one of three forms.

    `node`: the node that it stands for. If it is None, the block stands for `many` nodes together; if `many` is 0, for
    the own quota of `parent`.
    `called`: the word for several nodes, such as `queues`.
    `amounts`: the quota and usage of the pair.
    `shared`, `tail`: the number of letters that the names of all siblings have in common at the beginning and the end.
    `apart`: the number of letters after `shared` that distinguish the siblings' names.
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
    apart: int = 0

    @property
    def tile(self) -> bool:
        return self.height < ROW

    @property
    def bar(self) -> float:
        return 7.0 if self.tile else 12.0

    @property
    def filled(self) -> float:
        return 0.0 if self.amounts.unbounded else round(self.width * min(1.0, self.amounts.share), 2)

    @property
    def within(self) -> float:
        """The width of usage within the quota. The rest of `filled` is borrowed."""
        return self._part(self.amounts.used - max(self.amounts.borrowed, self.amounts.over))

    @property
    def allowed(self) -> float:
        """The width of usage within the limits. The rest of `filled` is over quota and borrowing limit."""
        return self._part(self.amounts.used - self.amounts.over)

    def _part(self, amount: int) -> float:
        used = self.amounts.used
        return round(self.filled * max(0, amount) / used, 2) if used > 0 else 0.0

    def text(self, name: str, taken: float = 0.0) -> str:
        """The longest form of a name that fits into the block. `taken`: the width of other texts in the block.

        The forms are, in this order: the whole name; without the common beginning of all siblings; also without a part
        of their common end; then only the beginning of the rest, or its beginning and end if a sibling has the same
        beginning. "…" marks a cut. It is left out at the beginning if its room is needed for letters.
        """
        room = self._room(taken)
        begun, own = "…" if self.shared else "", name[self.shared :]
        least = own[: len(own) - self.tail]
        ends = (f"{begun}{own[:letters]}…" for letters in range(_letters_bound(own, room), len(least) - 1, -1))
        rest = (f"{mark}{text}" for mark in (begun, "") for text in _shortened(least, room, self.apart))
        texts = chain((name, begun + own), ends if self.tail else (), rest)
        return next((text for text in texts if width_of(text) <= room), "")

    def numbers(self, *texts: str, taken: float = 0.0) -> str:
        """The first of these texts that fits; empty if none does. Texts are not cut, since a cut number is wrong."""
        room = self._room(taken)
        return next((text for text in texts if number_width(text) <= room), "")

    def _room(self, taken: float) -> float:
        return self.width - 2 * _LETTER - taken


def width_of(name: str) -> float:
    """The width of a name, without the space on its sides."""
    return sum(map(_WIDTHS.__getitem__, name))


def number_width(text: str) -> float:
    """The width of a number, which has a smaller font than names."""
    return len(text) * _LETTER


def _letters_bound(name: str, room: float) -> int:
    """An upper bound for the number of letters that fit, always less than all of them."""
    return min(len(name) - 1, int(room / _LETTER) + 1)


def _shortened(name: str, room: float, apart: int) -> Iterator[str]:
    """Cut forms of a name, longest first, each with at least two letters: its beginning, or its beginning and end.

    `apart`: the number of letters at its beginning that distinguish it. A form with fewer letters also has the end.
    """
    for letters in range(_letters_bound(name, room), 1, -1):
        end = 0 if letters >= apart else (letters + 1) // 2
        yield f"{name[: letters - end]}…{name[len(name) - end :]}"


class _Space(NamedTuple):
    """The room for the children of a node.

    `above`: the amounts of the parent. `shared`, `tail`, `apart`: see Block. `narrow`: the drawing is for a narrow
    screen. `band`: the room is inside a band. `rows`: the maximum number of stacked tiles.
    """

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
    band: bool = False
    rows: int = _TILE_ROWS


class _Sized(NamedTuple):
    """A child with the widths that it needs. `node` None stands for the parent's own quota.

    `needs`: the minimum width of its block. `least`: the width of its name. `badge`: the width of its number of pending
    workloads.
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
    """The blocks of `top` and its descendants, or of all roots if `top` is None.

    Widths are proportional to the quota of `pair`. Roots without the pair are left out if others have it. `only`: the
    nodes to draw; None means all.
    """
    first = [top] if top else [each for each in tree.children(None) if each.has(pair)] or tree.children(None)
    space = _Space(None, _among(first, only), 0.0, width, 0, 0.0, None, narrow=width <= NARROW)
    return _filled(tree, space, pair, only, MOST)


def _filled(
    tree: DialectTree, space: _Space, pair: FlavorPair, only: Collection[NodeKey] | None, most: int
) -> list[Block]:
    """The blocks in a space and all blocks below them, at most `most`."""
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


def _among(nodes: Sequence[TreeNode], only: Collection[NodeKey] | None) -> Sequence[TreeNode]:
    return nodes if only is None else [each for each in nodes if each.key in only]


def height(blocks: Sequence[Block]) -> float:
    return max((block.y + block.height for block in blocks), default=0.0)


def _children(tree: DialectTree, space: _Space, pair: FlavorPair, *, whole: bool) -> list[_Sized]:
    """The children of a space with their widths, widest first.

    `whole`: no child is left out. Then, in Kueue, the rest of the parent's quota is its own quota, and gets a block.
    """
    sized = [_sized(tree, space, node, pair) for node in space.children]
    sized.sort(key=lambda each: -each.weight)  # equal ones stay in their order
    held = sum(each.weight for each in sized)
    kueue = space.parent is not None and space.parent.dialect == "Kueue"
    if whole and kueue and space.above and held and (own := (space.above.quota or 0) - held) > 0:
        sized.append(_Sized(None, PairUsage(own, 0, 0, {}, {}), _OWN, _OWN))
    return sized


def _bands(tree: DialectTree, space: _Space, sized: Sequence[_Sized]) -> list[_Sized]:
    """The children that become bands; empty if all names fit side by side, or if bands do not fit."""
    parents = [each for each in sized if each.node is not None and tree.children(each.node)]
    if not space.narrow or not 0 < len(parents) <= _BANDS or space.depth + 1 >= ROWS:
        return []
    if space.band:
        return parents if _rows(space, len(parents)) >= _FEWEST_ROWS else []
    widths = dict(zip(map(id, sized), _widths(sized, space.width), strict=True))
    return parents if len(sized) > 1 and any(widths[id(each)] < _names_width(tree, each) for each in parents) else []


def _rows(space: _Space, bands: int) -> int:
    return (space.rows - _HEAD_ROWS * (bands - 1)) // bands


def _names_width(tree: DialectTree, sized: _Sized) -> float:
    """The width that the names of a child and its children need. Too many children do not count: not all are drawn."""
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
    """The blocks of tiles for the children without a band, and then of the bands with all their descendants."""
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
    if space.band:  # in a band, widths are not to scale, so equal tiles are drawn
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
    if tree.children(node):  # as a tile it would lose its children, so the badge is not part of what it needs
        return _Sized(node, amounts, max(named, _LEAST_PARENT), max(named, _LEAST_PARENT), badge)
    return _Sized(node, amounts, max(named + badge, _LEAST), max(named, _LEAST), badge)


def _side_by_side(space: _Space, sized: Sequence[_Sized], room: float) -> Iterator[Block]:
    x = space.x
    for each, width in zip(sized, _widths(sized, room), strict=True):
        yield _block(x, space.y, width, ROW, space, each)
        x += width


def _widths(sized: Sequence[_Sized], room: float) -> list[float]:
    """The widths of blocks side by side: proportional to their quota, but none narrower than it needs."""
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
    """The width of a tile: with room for all badges, unless fewer queues would fit then."""
    needs = max(_LEAST_TILE, *(each.least + each.badge for each in sized))
    if len(sized) > space.width // needs * space.rows:
        needs = max(_LEAST_TILE, *(each.least for each in sized))
    return min(space.width, needs)


def _tiles(space: _Space, sized: list[_Sized], pair: FlavorPair) -> Iterator[Block]:
    """The tiles in the order of names. If too many, those of nodes with pending work and the most used are kept."""
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
        called = "more" if named or len(rest) < len(space.children) else _common_word(rest)
        found = _block(*places[-1], width, TILE, space, _Sized(None, total(rest, pair), 0.0, 0.0))
        yield replace(found, many=len(rest), called=called)


def _block(x: float, y: float, width: float, height: float, space: _Space, sized: _Sized) -> Block:
    gap = min(_GAP, width / 4)
    node, x, width = sized.node, round(x, 2), round(width - gap, 2)
    many, *alike = (1, space.shared, space.tail, space.apart) if node is not None else (0, 0, 0, 0)
    return Block(x, y, width, height, space.depth, space.parent, node, many, sized.amounts, "", *alike)


def _shared(names: Sequence[str]) -> tuple[int, int, int]:
    """`shared`, `tail` and `apart` of a block with siblings of these names.

    The common beginning and end reach up to a separator, and leave at least one letter of each name.
    """
    if len(names) < 2:
        return 0, 0, 0
    start, end = _common_beginning(names), _common_beginning([name[::-1] for name in names])
    end = end if start + end < min(map(len, names)) else 0
    rest = sorted(name[start : len(name) - end] for name in names)
    return start, end, 1 + max(_common(*pair) for pair in pairwise(rest))


def _common_beginning(names: Sequence[str]) -> int:
    """The length of the names' common beginning, up to its last separator."""
    first, last = min(names), max(names)  # all others are between these two
    alike = _common(first, last)
    return max(first.rfind(separator, 0, alike) for separator in "-._/") + 1


def _common(first: str, second: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def _common_word(nodes: Sequence[TreeNode]) -> str:
    kinds = {node.key.kind for node in nodes}
    return "queues" if kinds <= _QUEUES else f"{kinds.pop()}s" if len(kinds) == 1 else "nodes"
