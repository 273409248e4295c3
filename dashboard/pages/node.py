"""The page of one node: its quota and usage, its children, borrowing, pending workloads, and findings."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from cluster.resource import Resource
from dashboard.pages.formatting import (
    OBJECTS,
    UsageBar,
    amount,
    bar_of,
    columns,
    findings_url,
    node_text,
    node_url,
    path_part,
    what_if_url,
)
from dashboard.pages.parts import Part, Tile, part, pending_tile
from dashboard.pages.stopped import why_stopped
from dashboard.pages.trees import read_tree
from dashboard.pages.usage import HEIGHT, WIDTH, charts
from dashboard.reading.cache import CachedReader
from dashboard.trees.contention import ContendedTree
from dashboard.trees.tree import BORROWING, NO_USAGE, STATES, USED, DialectTree, FlavorPair, NodeKey, TreeNode, state_of
from dashboard.what_if.edits import FIELDS
from dashboard.what_if.manifests import KINDS, LAST_APPLIED, as_yaml

PENDING = 100
"""The maximum number of pending workloads that are shown, from the head of the queue."""
_CHILDREN = 100
"""The maximum number of children that are shown, most pending work first."""
HOLDERS = 20
"""The maximum number of workloads that are shown as users of its quota, largest first."""
_SIBLINGS = 10
"""The maximum number of siblings that are shown as borrowers, and as lenders."""
_FINDINGS = 1000
"""The maximum number of a tree's findings that are searched for those of one node."""
_IN_COLUMNS = {*USED, "borrowed", "over"}
"""Fields of a quota that have their own column."""


class QuotaLine(NamedTuple):
    """The row of a flavor and resource.

    `fields`: the names and values of the fields in manifests. `number`: the share as a number.
    """

    pair: FlavorPair
    fields: Sequence[tuple[str, str]]
    quota: str
    used: str
    share: str
    borrowed: str
    lent: str
    number: float


class Child(NamedTuple):
    """A child in the table. `used`: its usage and quota of the node's scarcest pair; empty if it has neither."""

    node: TreeNode
    used: str
    share: str
    bar: UsageBar
    state: str


class Neighbour(NamedTuple):
    node: TreeNode
    pair: FlavorPair
    borrowed: str
    spare: str


class NodeFindings(NamedTuple):
    """The findings about a node.

    `own`: the findings about the node itself. `below`: the number of findings about its descendants. `url`: the page
    with all findings of the tree.
    """

    own: Sequence[dict[str, Any]]
    below: int
    url: str


def page(reader: CachedReader, dialect: str, key: NodeKey) -> dict[str, Any] | None:
    """The variables of the template; None if the node does not exist. Raises ClusterError."""
    tree = read_tree(reader, dialect, key)
    node = tree.nodes.get(key)
    if node is None:
        return None
    contended = tree.most_used(node)
    children = sorted(tree.children(node), key=lambda child: -child.waiting)
    holders = part(lambda: _holders(reader, node))
    return {
        "dialect": dialect,
        "borrows": dialect in BORROWING,
        "lends": dialect == "Kueue",
        "tree": tree,
        "node": node,
        "stopped": why_stopped(node),
        "kind": _worst(tree, node),
        "tried": FIELDS[key.kind][0] if what_if_url(node) else "",
        "in_tree": _in_tree(tree, node),
        "path": [
            (dialect, f"/trees/{dialect.lower()}"),
            *((each.name, node_url(each)) for each in tree.path(node)[:-1]),
        ],
        "quota": [_quota(tree, node, pair) for pair in node.pairs],
        "children": [_child(tree, each, contended) for each in children[:_CHILDREN]],
        "contended": contended,
        "none_now": key.kind == "Cohort" and not any("nominalQuota" in node.amounts(pair).own for pair in node.pairs),
        "more_children": max(0, len(children) - _CHILDREN),
        "usage": part(lambda: charts(reader, node)),
        "bars": {pair: bar_of(node.amounts(pair)) for pair in node.pairs},
        "neighbours": _neighbours(tree, node),
        "object": part(lambda: _object(reader, node)),
        "command": _command(node),
        "pending": part(lambda: _pending(reader, node)),
        "most": PENDING,
        "holders": holders,
        "tiles": list(_tiles(tree, node, holders)),
        "findings": part(lambda: _findings(reader, tree, node)),
    }


def _in_tree(tree: ContendedTree, node: TreeNode) -> str:
    """The URL of the node in its tree: the subtree of the node, or of its parent if the node has no children."""
    parent, pair = tree.parent(node), tree.most_used(node)
    shown = {"node": node_text(node.key)}
    if not tree.children(node):
        shown = {**({"node": node_text(parent.key)} if parent else {}), "q": node.name}
    return f"/trees/{node.dialect.lower()}?" + urlencode({**shown, **({"pair": str(pair)} if pair else {})})


def _child(tree: DialectTree, node: TreeNode, pair: FlavorPair | None) -> Child:
    found = node.amounts(pair) if pair else NO_USAGE
    state = state_of(tree, node, found)
    if pair is None or not node.has(pair):
        return Child(node, "", "", bar_of(found), state)
    quota, used, share, *_ = columns(tree, node, pair)
    return Child(node, f"{used} of {quota}", share, bar_of(found), state)


def _worst(tree: DialectTree, node: TreeNode) -> str:
    found = {state_of(tree, node, node.amounts(pair)) for pair in node.pairs} | {state_of(tree, node, NO_USAGE)}
    return max(found, key=STATES.index)


def _tiles(tree: DialectTree, node: TreeNode, holders: Part[dict[str, Any]]) -> Iterator[Tile]:
    """The tiles of the node. Quota and usage are those of the pair in the worst state, then with the largest share."""

    def badness(pair: FlavorPair) -> tuple[int, float]:
        found = node.amounts(pair)
        return STATES.index(state_of(tree, node, found)), found.share

    if node.pairs:
        pair = max(node.pairs, key=badness)
        found, share = node.amounts(pair), columns(tree, node, pair)[2]
        yield Tile(amount(pair, found.quota), f"quota of {pair}", "#quota-title")
        yield Tile(amount(pair, found.used), "used", "#quota-title", bar=bar_of(found), share=share)
        if found.over:
            yield Tile(amount(pair, found.over), "over its limit", "#quota-title", "over")
        elif found.borrowed:
            yield Tile(amount(pair, found.borrowed), "borrowed", "#quota-title", "borrowing")
        elif found.quota:
            yield Tile(amount(pair, found.spare), "unused", "#quota-title")
    held = "#holders-title" if holders.value and holders.value["items"] else ""
    for name, count in node.counts.items():
        if name.lower() in ("pending", "waiting"):
            yield pending_tile(count, "#waiting-title")
        elif node.dialect != "Kueue" and not count and name.lower() != "running":
            continue  # Volcano counts many states, most of which are 0
        elif name != "reserving" or count != node.counts.get("admitted"):
            yield Tile(count, name.lower(), held if name in ("admitted", "reserving") else "")


def drawn(reader: CachedReader, dialect: str, key: NodeKey, pair: FlavorPair) -> dict[str, Any] | None:
    """The variables for an SVG file with the chart of one pair; None if there is no chart. Raises ClusterError."""
    node = read_tree(reader, dialect, key).nodes.get(key)
    chart = charts(reader, node).get(pair) if node is not None else None
    return {"node": node, "chart": chart, "width": WIDTH, "height": HEIGHT} if chart else None


def _quota(tree: DialectTree, node: TreeNode, pair: FlavorPair) -> QuotaLine:
    found = node.amounts(pair)
    quota = amount(pair, found.quota)  # a sum if the node has children; then `fields` has its own quota
    own = [(name, text) for name, text in found.own.items() if name not in _IN_COLUMNS]
    every = [*own, *((f"{name} of all below", text) for name, text in found.below.items())]
    fields = [each for each in every if each[0].partition(" ")[0] != "nominalQuota" or each[1] != quota]
    return QuotaLine(pair, fields, *columns(tree, node, pair), found.used / 10**9)


def _resource(node: TreeNode) -> Resource | None:
    """The API resource of the node's object; None if the node is not an object."""
    return KINDS[node.key.kind] if (node.dialect, node.key.kind) in OBJECTS else None


def _object(reader: CachedReader, node: TreeNode) -> str:
    """The node's object as YAML, without managedFields and kubectl's annotation; empty if the node has no object."""
    kind = _resource(node)
    if kind is None or not node.exists:
        return ""
    stored = reader.kept(("object", node.key), lambda: reader.reader.stored(kind, None, node.name))
    meta = {name: value for name, value in stored["metadata"].items() if name != "managedFields"}
    notes = {name: value for name, value in (meta.get("annotations") or {}).items() if name != LAST_APPLIED}
    return as_yaml([{**stored, "metadata": {**meta, **({"annotations": notes} if "annotations" in meta else {})}}])


def _command(node: TreeNode) -> str:
    kind = _resource(node)
    return (
        f"kubectl edit {kind.plural}{f'.{kind.group}' if kind.group else ''} {shlex.quote(node.name)}" if kind else ""
    )


def _neighbours(tree: DialectTree, node: TreeNode) -> list[Neighbour]:
    """The siblings that borrow and those that could lend, for the pairs of this node's quota.

    Those with the largest part of the parent's quota come first. A node that may not borrow has no lenders.
    """
    parent = tree.parent(node)
    if parent is None or node.dialect not in BORROWING:
        return []
    siblings = [each for each in tree.children(parent) if each is not node]
    found = [(each, pair, each.amounts(pair)) for pair in node.pairs for each in siblings]
    alone = {pair for pair in node.pairs if node.amounts(pair).own.get("borrowingLimit") == "0"}
    found = [each for each in found if each[2].borrowed or (each[2].spare and each[1] not in alone)]
    whole = {pair: parent.amounts(pair).quota or 1 for pair in node.pairs}  # amounts of different resources differ
    found.sort(key=lambda each: (-each[2].borrowed / whole[each[1]], -each[2].spare / whole[each[1]]))
    borrowers, lenders = ([each for each in found if bool(each[2].borrowed) is kind] for kind in (True, False))
    return [
        Neighbour(each, pair, *(amount(pair, nano) if nano else "" for nano in (amounts.borrowed, amounts.spare)))
        for each, pair, amounts in (*borrowers[:_SIBLINGS], *lenders[:_SIBLINGS])
    ]


def _pending(reader: CachedReader, node: TreeNode) -> list[dict[str, Any]]:
    """The pending work of the node in queue order. Empty if work cannot wait at such a node."""
    path = {
        ("Kueue", "ClusterQueue"): "/v1/clusterqueues/{}/pendingworkloads",
        ("Volcano", "Queue"): "/v1/volcano/queues/{}/pendingpods",
        ("YuniKorn", "Queue"): "/v1/yunikorn/queues/{}/pendingpods",
        ("YuniKorn", "Namespace"): "/v1/namespaces/{}/pendingpods",
    }.get((node.dialect, node.key.kind))
    if path is None:
        return []
    return list(reader.ask(path.format(path_part(node.name)), {"limit": str(PENDING)})["items"])


def _holders(reader: CachedReader, node: TreeNode) -> dict[str, Any]:
    """The reconciler's answer about the workloads that use the quota of a ClusterQueue; empty for other nodes."""
    if (node.dialect, node.key.kind) != ("Kueue", "ClusterQueue"):
        return {}
    return dict(reader.ask(f"/v1/clusterqueues/{path_part(node.name)}/workloads", {"limit": str(HOLDERS)}))


def _findings(reader: CachedReader, tree: DialectTree, node: TreeNode) -> NodeFindings:
    """The findings about the node and the number of those about its descendants.

    If the audit knows the root, only the findings of this tree are read.
    """
    if _resource(node) is None:
        return NodeFindings([], 0, "")  # an object of this kind and name belongs to another project
    root = tree.path(node)[0]
    known = node.dialect != "YuniKorn" and root.key not in tree.on_cycles
    items = reader.findings({"limit": str(_FINDINGS), **({"root": root.name} if known else {})})["items"]
    keys = [NodeKey(each["object"]["kind"], each["object"]["name"]) for each in items]
    own = [each for each, key in zip(items, keys, strict=True) if key == node.key]
    below = {each.key for _, each in tree.walk(node)} - {node.key}
    return NodeFindings(own, sum(key in below for key in keys), findings_url(root.name))
