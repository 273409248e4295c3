"""The view of a tree: the filter and the order in the query string of its page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from werkzeug.datastructures import MultiDict

from dashboard.pages.formatting import node_text, offset_of
from dashboard.trees.contention import ContendedTree
from dashboard.trees.tree import FlavorPair, NodeKey, TreeNode

SORTS = ("name", "quota", "used", "share", "borrowed", "lent", "pending")
_MOST_TOGGLED = 200
"""The maximum number of folded or unfolded nodes in one URL."""


@dataclass(frozen=True, slots=True)
class TreePageView:
    """The view of a tree.

    `top`: the node whose subtree is shown; None for the whole tree.
    `pair`: the flavor and resource whose amounts are shown.
    `text`: the filter by name.
    `offset`: the number of rows before the page of the table.
    `sort`: the column that sorts the table; empty for the order of the tree.
    `up`: whether the smallest value comes first.
    `unfolded`: whether all rows are shown.
    `toggled`: the nodes whose children are hidden although they would be shown by default, or the reverse.
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
        return self.text.lower() in node.name.lower()

    def url(self, path: str = "", **changed: object) -> str:
        """The URL of this view with some parameters changed. `path`: the end of its path."""
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
        """The URL of this view with the children of a node folded, or unfolded if they are folded."""
        text = node_text(node.key)
        others = tuple(each for each in self.toggled if each != text)
        return self.url(toggled=others if text in self.toggled else (*others, text))

    def sorted_by(self, column: str) -> str:
        """The URL of this view sorted by a column, in reverse if it is sorted by that column already."""
        up = not self.up if column == self.sort else column == "name"
        return self.url(sort=column, order="up" if up else "")


def view_of(tree: ContendedTree, dialect: str, query: MultiDict[str, str]) -> TreePageView:
    """The view that a query string describes. Missing or invalid parameters have their default."""
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
    """The node of a query parameter. The inverse of `node_text`."""
    kind, _, name = text.partition("/")
    return NodeKey(kind, name)
