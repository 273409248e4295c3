"""The page with the trees of one project, as a drawing and as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from werkzeug.datastructures import MultiDict

from cluster.errors import ApiError, ClusterError, NotFound
from cluster.roles import missing_role
from dashboard.pages.formatting import TREES, node_text
from dashboard.pages.picture import picture
from dashboard.pages.tree_table import table
from dashboard.pages.view import TreePageView, key_of, view_of
from dashboard.reading.cache import CachedReader
from dashboard.trees.contention import ContendedTree
from dashboard.trees.icicle import NARROW, WIDE
from dashboard.trees.tree import BORROWING, NodeKey


class SwitchedOff(NamedTuple):
    """A feature for a project that is off by default, and how to turn it on."""

    what: str
    how: str
    example: str


_COMPONENTS = """components:
  - ../quotree/manifests/components/reconciler
  - ../quotree/manifests/components/{}
"""
_BEHIND = "To turn it on, list its component after that of the reconciler in your kustomization, and"
_OFF = {
    "Volcano": SwitchedOff(
        "manage Volcano's queues",
        f"{_BEHIND} stop the queue controller of Volcano.",
        _COMPONENTS.format("reconciler-volcano"),
    ),
    "YuniKorn": SwitchedOff(
        "enforce YuniKorn's quota",
        f"{_BEHIND} label the Namespaces whose Pods wait for their quota: `kubectl label namespace NAME"
        " quotree.dev/quota=yunikorn`.",
        _COMPONENTS.format("yunikorn-gates"),
    ),
}


def read_tree(reader: CachedReader, dialect: str, wanted: NodeKey | None = None) -> ContendedTree:
    """The trees of a dialect. If the cached tree lacks `wanted`, which may be newer, it is read again.

    Raises ClusterError: NotFound if these trees are not served.
    """
    tree = reader.made(TREES[dialect], ContendedTree)
    if wanted is not None and wanted not in tree.nodes:
        reader.renew()
        tree = reader.made(TREES[dialect], ContendedTree)
    return tree


def page(reader: CachedReader, dialect: str, query: MultiDict[str, str]) -> dict[str, Any]:
    tree = read_tree(reader, dialect, key_of(query["node"]) if query.get("node") else None)
    view = view_of(tree, dialect, query)
    return {
        "dialect": dialect,
        "borrows": dialect in BORROWING,
        "lends": dialect == "Kueue",
        "view": view,
        "tree": tree,
        "path": [(dialect, view.url(node="")), *_above(tree, view)] if view.top else [],
        "pictures": (picture(tree, view, WIDE), picture(tree, view, NARROW)),
        "table": table(tree, view),
    }


def _above(tree: ContendedTree, view: TreePageView) -> Iterator[tuple[str, str]]:
    for each in tree.path(view.top)[:-1] if view.top else ():
        yield each.name, view.url(node=node_text(each.key))


def drawn(reader: CachedReader, dialect: str, query: MultiDict[str, str]) -> dict[str, Any]:
    tree = read_tree(reader, dialect, key_of(query["node"]) if query.get("node") else None)
    view = view_of(tree, dialect, query)
    return {"view": view, "picture": picture(tree, view, WIDE)}


def no_trees(dialect: str, error: ClusterError) -> dict[str, Any]:
    """The variables of the page for trees that cannot be read: the reason, and links to other pages."""
    message = error.message if isinstance(error, ApiError) and error.message else str(error)
    off = _OFF.get(dialect) if isinstance(error, NotFound) else None
    return {"dialect": dialect, "message": message, "role": missing_role(message), "off": off}
