"""The trees of one project: their picture, and the same as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from cluster.errors import ClusterError
from dashboard.pages.shown import DIALECTS, TREES, amount, columns, node_url, offset_of
from dashboard.reading.cache import CachedReader
from dashboard.trees.contention import ContendedTree
from dashboard.trees.icicle import WIDTH, Block, height, icicle
from dashboard.trees.tree import DialectTree, FlavorPair, NodeKey, TreeNode

PAGE = 100
"""Rows of the table at once."""


@dataclass(frozen=True, slots=True)
class TreePageView:
    """What of a tree is looked at: below which node, of which pair, whose name has this text, from which row on."""

    dialect: str
    top: TreeNode | None
    pair: FlavorPair
    text: str
    offset: int

    def url(self, **changed: object) -> str:
        """The URL of this view with some values changed."""
        parts = (
            {
                "node": node_text(self.top.key) if self.top else "",
                "pair": str(self.pair) if self.pair.resource else "",
                "q": self.text,
                "offset": self.offset or "",
            }
            | {"offset": ""}
            | changed
        )
        query = urlencode({name: value for name, value in parts.items() if value})
        return f"/trees/{self.dialect.lower()}" + (f"?{query}" if query else "")


@dataclass(frozen=True, slots=True)
class TableRow:
    """One line of the table."""

    depth: int
    node: TreeNode
    quota: str
    used: str
    share: str
    borrowed: str
    lent: str


def read_tree(reader: CachedReader, dialect: str, wanted: NodeKey | None = None) -> ContendedTree:
    """Read anew where the tree lacks `wanted`, which may be younger than what is kept.

    Raises ClusterError: NotFound where these trees are not served.
    """
    tree = reader.made(TREES[dialect], ContendedTree)
    if wanted is not None and wanted not in tree.nodes:
        reader.renew()
        tree = reader.made(TREES[dialect], ContendedTree)
    return tree


def page(reader: CachedReader, dialect: str, query: Mapping[str, str]) -> dict[str, Any]:
    tree = read_tree(reader, dialect, _key(query["node"]) if query.get("node") else None)
    view = _view(tree, dialect, query)
    rows = list(_found(tree, view))
    blocks = icicle(tree, view.top, view.pair)
    return {
        "dialects": DIALECTS,
        "dialect": dialect,
        "view": view,
        "tree": tree,
        "path": tree.path(view.top) if view.top else [],
        "blocks": [_drawn(view, block) for block in blocks],
        "width": WIDTH,
        "height": height(blocks),
        "rows": [_row(tree, view.pair, *each) for each in rows[view.offset : view.offset + PAGE]],
        "first": view.offset + 1,
        "last": min(len(rows), view.offset + PAGE),
        "count": len(rows),
        "before": view.url(offset=max(0, view.offset - PAGE)) if view.offset else "",
        "after": view.url(offset=view.offset + PAGE) if view.offset + PAGE < len(rows) else "",
    }


def no_trees(dialect: str, error: ClusterError) -> dict[str, Any]:
    """Where these trees cannot be read: the page says so, and what else there is to look at."""
    return {"dialects": DIALECTS, "dialect": dialect, "error": error}


def node_text(key: NodeKey) -> str:
    return f"{key.kind}/{key.name}"


def _key(text: str) -> NodeKey:
    """The inverse of `node_text`."""
    kind, _, name = text.partition("/")
    return NodeKey(kind, name)


def _view(tree: ContendedTree, dialect: str, query: Mapping[str, str]) -> TreePageView:
    """What the query does not say, or says of what is gone, is as on the first look."""
    pair = FlavorPair.parse(query.get("pair", ""))
    top, text = tree.nodes.get(_key(query.get("node", ""))), query.get("q", "").strip()[:200]
    if pair not in tree.pairs:
        pair = tree.most_used(top) or next(iter(tree.pairs), FlavorPair("", ""))
    return TreePageView(dialect, top, pair, text, offset_of(query))


def _found(tree: DialectTree, view: TreePageView) -> Iterator[tuple[int, TreeNode]]:
    return ((depth, node) for depth, node in tree.walk(view.top) if _named(view, node))


def _named(view: TreePageView, node: TreeNode) -> bool:
    return view.text.lower() in node.name.lower()


def _row(tree: DialectTree, pair: FlavorPair, depth: int, node: TreeNode) -> TableRow:
    return TableRow(depth, node, *columns(tree, node, pair))


def _drawn(view: TreePageView, block: Block) -> dict[str, Any]:
    """A block with its texts. Its name says all that it shows."""
    found, pair = block.amounts, view.pair
    numbers = f"{amount(pair, found.used)} of {amount(pair, found.quota)} {pair} used"
    if found.borrowed:
        numbers += f", {amount(pair, found.borrowed)} borrowed"
    used, waiting = f"{amount(pair, found.used)} / {amount(pair, found.quota)}", block.node.waiting if block.node else 0
    if waiting:
        numbers += f", {waiting} pending"
    if block.node is None and block.many == 0 and block.parent is not None:
        return _own_quota(view, block, block.parent)
    if block.node is None:
        name = f"{block.many} {block.called}"
        target = view.url(node=node_text(block.parent.key) if block.parent else "") + "#table"
    else:
        name, target = f"{block.node.key.kind} {block.node.name}", view.url(node=node_text(block.node.key))
    return {
        "block": block,
        "url": target,
        "more": node_url(block.node) if block.node else "",
        "name": f"{name}: {numbers}",
        "label": block.text(block.node.name) if block.node else block.numbers(name, f"+{block.many}"),
        "numbers": block.numbers(*([f"{used}, {waiting} pending"] if waiting else []), used),
        "over": found.borrowed > 0,
        "dim": block.node is not None and not _named(view, block.node),
    }


def _own_quota(view: TreePageView, block: Block, parent: TreeNode) -> dict[str, Any]:
    """The block of the quota that a parent has itself, which all below may borrow."""
    quota = amount(view.pair, block.amounts.quota)
    return {
        "block": block,
        "url": node_url(parent),
        "more": "",
        "name": f"Own quota of {parent.key.kind} {parent.name}: {quota} {view.pair}",
        "label": block.numbers("own quota", "own"),
        "numbers": block.numbers(quota),
        "over": False,
        "own": True,
        "dim": not _named(view, parent),
    }
