"""The drawing of a tree: each block with its texts, the mark of its state, and its number of pending workloads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dashboard.pages.formatting import amount, node_text, node_url
from dashboard.pages.view import TreePageView
from dashboard.trees.contention import ContendedTree
from dashboard.trees.icicle import BESIDE, MARK, MARKED, Block, height, icicle, number_width, width_of
from dashboard.trees.tree import TreeNode, state_of


class Picture(NamedTuple):
    """The drawing of a tree.

    `width`, `height`: in viewBox units.
    `closed`: the blocks whose descendants are not drawn, each with the number of these, the largest number first.
    `matches`: whether only nodes that the filter finds are drawn, with their ancestors.
    `without_pair`: the number of roots that are left out because they have no quota of the flavor and resource.
    """

    width: float
    height: float
    blocks: Sequence[DrawnBlock]
    closed: Sequence[tuple[DrawnBlock, int]]
    matches: bool = False
    without_pair: int = 0

    @property
    def hidden(self) -> int:
        return sum(number for _, number in self.closed)


@dataclass(frozen=True, slots=True)
class DrawnBlock:
    """A block with its texts.

    `name`: a text with everything that the block shows, for its tooltip and for screen readers.
    `state`: see `STATES`; empty for blocks that do not stand for one node.
    `label`, `numbers`: the texts in the block, cut to its width.
    `badge`, `badge_width`: the number of pending workloads; empty and 0 if there are none.
    `dim`: whether the filter does not match the node.
    `own`: whether the block stands for a parent's own quota.
    """

    block: Block
    url: str
    name: str
    state: str
    label: str
    numbers: str
    badge: str = ""
    badge_width: float = 0.0
    dim: bool = False
    own: bool = False

    @property
    def marked(self) -> bool:
        return self.state in MARKED


def picture(tree: ContendedTree, view: TreePageView, width: float) -> Picture:
    blocks = icicle(tree, view.top, view.pair, width)
    roots = len(tree.children(None)) - sum(block.many for block in blocks if block.depth == 0)
    without = roots if view.top is None else 0
    if found := _undrawn(tree, view, blocks):
        blocks = icicle(tree, view.top, view.pair, width, {each.key for node in found for each in tree.path(node)})
        drawn = [_drawn(tree, view, block, 0) for block in blocks]
        return Picture(width, height(blocks), drawn, (), matches=True, without_pair=without)
    below = _hidden(tree, blocks)
    drawn = [_drawn(tree, view, *each) for each in zip(blocks, below, strict=True)]
    closed = sorted((each for each in zip(drawn, below, strict=True) if each[1]), key=lambda each: -each[1])
    return Picture(width, height(blocks), drawn, closed, without_pair=without)


def _undrawn(tree: ContendedTree, view: TreePageView, blocks: Sequence[Block]) -> list[TreeNode]:
    """All nodes that the filter finds, if some of them have no block; otherwise empty."""
    if not view.text:
        return []
    found = [node for _, node in tree.walk(view.top) if view.names(node)]
    drawn = {block.node.key for block in blocks if block.node is not None}
    return [] if all(each.key in drawn for each in found) else found


def _hidden(tree: ContendedTree, blocks: Sequence[Block]) -> list[int]:
    """For each block, the number of its descendants that are not drawn, not even as part of a common block."""
    shown = {block.node.key for block in blocks if block.node is not None}
    summed = {block.parent.key for block in blocks if block.parent is not None and block.node is None and block.many}
    return [
        0
        if block.node is None or block.node.key in summed
        else sum(1 + tree.sizes[each.key] for each in tree.children(block.node) if each.key not in shown)
        for block in blocks
    ]


def _drawn(tree: ContendedTree, view: TreePageView, block: Block, below: int) -> DrawnBlock:
    node = block.node
    if node is not None:
        return _of_node(tree, view, block, node, below)
    if block.many == 0 and block.parent is not None:
        return _own_quota(view, block, block.parent)
    name = f"{block.many} {block.called}"
    target = view.url(node=node_text(block.parent.key) if block.parent else "", rows="all") + "#table"
    label = block.numbers(name, f"+{block.many}")
    return DrawnBlock(block, target, f"{name}: {_usage_text(view, block)}", "", label, "")


def _of_node(tree: ContendedTree, view: TreePageView, block: Block, node: TreeNode, below: int) -> DrawnBlock:
    state, waiting = state_of(tree, node, block.amounts), node.waiting
    badge = str(waiting) if waiting else ""
    badge_width = number_width(badge) + BESIDE if badge else 0.0
    taken = (badge_width + BESIDE if badge else 0.0) + (MARK if state in MARKED else 0.0)
    label = block.text(node.name, taken)
    beside = taken + width_of(label) + BESIDE if block.tile else 0.0
    said = [_usage_text(view, block), *([f"{waiting} pending"] if waiting else [])]
    if state in ("stopped", "inactive"):
        said.append(state)
    if below:
        said.append(f"{below} below it are not drawn")
    return DrawnBlock(
        block,
        view.url(node=node_text(node.key)) if tree.children(node) else node_url(node),
        f"{node.key.kind} {node.name}: {', '.join(said)}",
        state,
        label,
        _used(view, block, beside),
        badge,
        badge_width,
        dim=not view.names(node),
    )


def _usage_text(view: TreePageView, block: Block) -> str:
    found, pair = block.amounts, view.pair
    said = f"{amount(pair, found.used)} of {amount(pair, found.quota)} {pair} used"
    beyond = {"borrowed": found.borrowed, "beyond its borrowing limit": found.over if found.borrowed else 0}
    beyond["beyond its quota"] = 0 if found.borrowed else found.over
    return ", ".join([said, *(f"{amount(pair, nano)} {what}" for what, nano in beyond.items() if nano)])


def _used(view: TreePageView, block: Block, taken: float = 0.0) -> str:
    pair, found = view.pair, block.amounts
    return block.numbers(f"{amount(pair, found.used)} / {amount(pair, found.quota)}", taken=taken)


def _own_quota(view: TreePageView, block: Block, parent: TreeNode) -> DrawnBlock:
    """The block of a parent's own quota, which its descendants may borrow."""
    quota = amount(view.pair, block.amounts.quota)
    label = block.numbers("own quota", "own")
    beside = width_of(label) + BESIDE if block.tile else 0.0
    name = f"Own quota of {parent.key.kind} {parent.name}: {quota} {view.pair}"
    numbers = block.numbers(quota, taken=beside)
    return DrawnBlock(block, node_url(parent), name, "", label, numbers, dim=not view.names(parent), own=True)
