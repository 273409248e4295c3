"""Formats amounts, links and times for pages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from markupsafe import Markup, escape

from dashboard.reading.backend import Manifest
from dashboard.trees.tree import DialectTree, FlavorPair, NodeKey, PairUsage, TreeNode, lent
from policies.impact.quotas import amount_text
from policies.model.quantity import Quantity

DIALECTS = ("Kueue", "Volcano", "YuniKorn")
TREES = {"Kueue": "/v1/tree", "Volcano": "/v1/volcano/tree", "YuniKorn": "/v1/yunikorn/tree"}

OBJECTS = {("Kueue", "ClusterQueue"), ("Kueue", "Cohort"), ("Volcano", "Queue"), ("YuniKorn", "Namespace")}
"""The kinds of nodes that are Kubernetes objects. A queue of YuniKorn is not an object."""


def amount(pair: FlavorPair, nano: int | None) -> str:
    """The amount as a Kubernetes quantity; a dash for None."""
    return "–" if nano is None else amount_text(pair.resource, nano)


def free_text(lack: Manifest) -> str:
    """The free amount of a resource that a workload lacks; negative if more is in use than the quota."""
    short = Quantity.parse((lack["obstacle"] or {}).get("lacking", "0")).nano - Quantity.parse(lack["wanted"]).nano
    return f"-{amount_text(lack['resource'], short)} (over)" if short > 0 else str(lack["free"])


def scarce_text(requests: Mapping[str, str]) -> str:
    """The requests of work for extended resources, such as GPUs; if it has none, for cpu and memory."""
    extended = [name for name in sorted(requests) if "/" in name]
    chosen = extended or [name for name in ("cpu", "memory") if name in requests]
    return ", ".join(f"{requests[name]} {name}" for name in chosen)


def coded(text: str) -> Markup:
    """The text as HTML, with the parts in backquotes as code. Markup is not changed."""
    if isinstance(text, Markup):
        return text
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(Markup("<code>{}</code>").format(each) if at % 2 else each for at, each in enumerate(parts))


def columns(tree: DialectTree, node: TreeNode, pair: FlavorPair) -> tuple[str, str, str, str, str]:
    """The cells of a table row: quota, used, share, borrowed and lent."""
    found, lends = node.amounts(pair), lent(tree, node, pair)
    return (
        amount(pair, found.quota),
        amount(pair, found.used),
        f"{found.share:.0%}" if found.quota else "–",
        amount(pair, found.borrowed) if found.borrowed else "",
        amount(pair, lends) if lends else "",
    )


class UsageBar(NamedTuple):
    """The parts of a usage bar, in percent of its width.

    `used`: usage within the quota. `borrowed`: usage that is borrowed. `over`: usage beyond the limit. `quota`: the
    position of the quota's end. All are 0 if there is no quota; then the bar is only an outline.
    """

    used: float
    borrowed: float
    over: float
    quota: float


def bar_of(found: PairUsage) -> UsageBar:
    if found.unbounded:
        return UsageBar(0, 0, 0, 0)
    quota = found.quota or 0
    most = max(found.used, quota, 1)
    over = min(found.over, found.used)
    borrowed = max(0, min(found.borrowed, found.used) - over)
    return UsageBar(*(round(100 * each / most, 1) for each in (found.used - over - borrowed, borrowed, over, quota)))


def node_text(key: NodeKey) -> str:
    """The node as a query parameter; see `key_of`."""
    return f"{key.kind}/{key.name}"


def offset_of(query: Mapping[str, str]) -> int:
    """The query parameter `offset`: the number of rows before this page of a list; 0 if it is not a number."""
    text = query.get("offset", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 8 else 0


def page_start(offset: int, number: int, step: int) -> int:
    """The offset of a page, or of the last page if the list has become shorter.

    `number`: the rows of the list. `step`: the rows of a page.
    """
    return min(offset, max(0, number - 1) // step * step)


def node_url(node: TreeNode) -> str:
    return queue_url(node.dialect, *node.key)


def linked(node: TreeNode) -> Markup:
    return Markup('<a href="{}">{}</a>').format(node_url(node), node.name)


def queue_url(dialect: str, kind: str, name: str) -> str:
    return f"/queues/{path_part(dialect.lower())}/{path_part(kind)}/{path_part(name)}"


def what_if_url(node: TreeNode, pair: FlavorPair | None = None, new: str = "") -> str:
    """The URL of the what-if form for this node; empty if the form cannot change this kind of node.

    `pair`: the flavor and resource, by default the first of its quota. `new`: the new amount, or a difference.
    """
    if (node.dialect, node.key.kind) not in OBJECTS:
        return ""
    pair = pair or (node.pairs[0] if node.pairs else FlavorPair("", ""))
    return "/what-if?" + urlencode({**node.key._asdict(), **pair._asdict(), **({"amount": new} if new else {})})


def workload_url(namespace: str, name: str) -> str:
    return f"/workloads/{path_part(namespace)}/{path_part(name)}"


def findings_url(root: str) -> str:
    return "/findings?" + urlencode({"root": root})


def namespace_url(name: str) -> str:
    return f"/namespaces/{path_part(name)}"


def object_url(kind: str, namespace: str, name: str) -> str:
    """The URL of the page about an object that a finding names; empty if there is no such page."""
    match kind:
        case "ClusterQueue" | "Cohort":
            return queue_url("Kueue", kind, name)
        case "Queue":
            return queue_url("Volcano", kind, name)
        case "Workload":
            return workload_url(namespace, name)
        case "LocalQueue":
            return namespace_url(namespace)
        case "Namespace":
            return namespace_url(name)
    return ""


def dialect_named(lower: str) -> str | None:
    return next((dialect for dialect in DIALECTS if dialect.lower() == lower), None)


def clock(moment: datetime | None) -> str:
    """The time in UTC, in the format of RFC 3339; empty for None."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if moment else ""


def job_text(job: dict[str, Any]) -> str:
    return f"{job.get('kind', 'Workload')} {job.get('namespace', '')}/{job.get('name', '')}"


def path_part(name: str) -> str:
    """The name, escaped as one segment of a path."""
    return quote(name, safe="")
