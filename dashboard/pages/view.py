"""What of a tree is looked at, as the query of a page says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from werkzeug.datastructures import MultiDict

from dashboard.pages.formatting import node_text, offset_of
from dashboard.trees.contention import ContendedTree
from dashboard.trees.tree import FlavorPair, NodeKey, TreeNode

SORTS = ("name", "quota", "used", "share", "borrowed", "lent", "pending")
"""The columns by which the table is sorted."""
_MOST_TOGGLED = 200
"""Folds in one URL."""


@dataclass(frozen=True, slots=True)
class TreePageView:
    """The filter of a table: below this node, of this pair, with this text in the name, from this row on.

    `sort`: a column of the table, empty for the order of the tree; `up`: the smallest first. `unfolded`: all rows are
    shown. `toggled`: the nodes whose children are hidden though they would be shown, and the other way round.
    """

    dialect: str
    top: TreeNode | None
    pair: FlavorPair
    text: str
    offset: int
    sort: str = ""
    up: bool = False
    unfolded: bool = False
    toggled: tuple[str, ...] = ()

    def names(self, node: TreeNode) -> bool:
        """Whether the name of the node has the text."""
        return self.text.lower() in node.name.lower()

    def url(self, path: str = "", **changed: object) -> str:
        """The URL of this view with some values changed. `path`: below that of the trees."""
        parts: Mapping[str, object] = {
            "node": node_text(self.top.key) if self.top else "",
            "pair": str(self.pair) if self.pair.resource else "",
            "q": self.text,
            "sort": self.sort,
            "order": "up" if self.up else "",
            "rows": "all" if self.unfolded else "",
            "toggled": self.toggled,
        } | changed
        query = urlencode({name: value for name, value in parts.items() if value}, doseq=True)
        return f"/trees/{self.dialect.lower()}{path}" + (f"?{query}" if query else "")

    def toggle(self, node: TreeNode) -> str:
        """The URL of this view with the children of a node shown if they are hidden, hidden if they are shown."""
        text = node_text(node.key)
        others = tuple(each for each in self.toggled if each != text)
        return self.url(toggled=others if text in self.toggled else (*others, text))

    def sorted_by(self, column: str) -> str:
        """The URL of this view sorted by a column, the other way round if it is already."""
        up = not self.up if column == self.sort else column == "name"
        return self.url(sort=column, order="up" if up else "")


def view_of(tree: ContendedTree, dialect: str, query: MultiDict[str, str]) -> TreePageView:
    """What the query does not say, or says of what is gone, is as on the first look."""
    pair = FlavorPair.parse(query.get("pair", ""))
    top, text = tree.nodes.get(key_of(query.get("node", ""))), query.get("q", "").strip()[:200]
    if pair not in tree.pairs:
        pair = tree.most_used(top) or next(iter(tree.pairs), FlavorPair("", ""))
    return TreePageView(
        dialect,
        top,
        pair,
        text,
        offset_of(query),
        sort if (sort := query.get("sort", "")) in SORTS else "",
        query.get("order") == "up",
        query.get("rows") == "all",
        tuple(dict.fromkeys(query.getlist("toggled")))[:_MOST_TOGGLED],
    )


def key_of(text: str) -> NodeKey:
    """The inverse of `node_text`."""
    kind, _, name = text.partition("/")
    return NodeKey(kind, name)
