"""How pages write amounts, links and times."""

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
"""The nodes that are objects. A queue of YuniKorn is not: it can have the name of one of Volcano."""


def amount(pair: FlavorPair, nano: int | None) -> str:
    """The amount as Kubernetes writes it; a dash for None."""
    return "–" if nano is None else amount_text(pair.resource, nano)


def free_text(lack: Manifest) -> str:
    """What is free of something that a workload lacks; negative where more is in use than there is."""
    short = Quantity.parse((lack["obstacle"] or {}).get("lacking", "0")).nano - Quantity.parse(lack["wanted"]).nano
    return f"-{amount_text(lack['resource'], short)} (over)" if short > 0 else str(lack["free"])


def scarce_text(requests: Mapping[str, str]) -> str:
    """What work asks for that is scarce: devices and other extended resources; else its cpu and memory."""
    extended = [name for name in sorted(requests) if "/" in name]
    chosen = extended or [name for name in ("cpu", "memory") if name in requests]
    return ", ".join(f"{requests[name]} {name}" for name in chosen)


def coded(text: str) -> Markup:
    """The text with what stands between backquotes as code; Markup stays as it is."""
    if isinstance(text, Markup):
        return text
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(Markup("<code>{}</code>").format(each) if at % 2 else each for at, each in enumerate(parts))


def columns(tree: DialectTree, node: TreeNode, pair: FlavorPair) -> tuple[str, str, str, str, str]:
    """Quota, used, share, borrowed and lent, as rows of tables have them."""
    found, lends = node.amounts(pair), lent(tree, node, pair)
    return (
        amount(pair, found.quota),
        amount(pair, found.used),
        f"{found.share:.0%}" if found.quota else "–",
        amount(pair, found.borrowed) if found.borrowed else "",
        amount(pair, lends) if lends else "",
    )


class UsageBar(NamedTuple):
    """Widths of 100: what is used within the quota, borrowed, and beyond the limit; where the quota ends.

    All are 0 without a quota: the bar is an outline.
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
    """A node in a query; see `key_of`."""
    return f"{key.kind}/{key.name}"


def offset_of(query: Mapping[str, str]) -> int:
    """How many rows come before the page of a list; 0 where that is not a number."""
    text = query.get("offset", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 8 else 0


def node_url(node: TreeNode) -> str:
    return queue_url(node.dialect, *node.key)


def linked(node: TreeNode) -> Markup:
    """Its name, which leads to its page."""
    return Markup('<a href="{}">{}</a>').format(node_url(node), node.name)


def queue_url(dialect: str, kind: str, name: str) -> str:
    return f"/queues/{path_part(dialect.lower())}/{path_part(kind)}/{path_part(name)}"


def what_if_url(node: TreeNode, pair: FlavorPair | None = None, new: str = "") -> str:
    """The form with this node filled in; empty where it cannot change such a node.

    `pair`: else the first of its quota. `new`: the amount, or how much more or less.
    """
    if (node.dialect, node.key.kind) not in OBJECTS:
        return ""
    pair = pair or (node.pairs[0] if node.pairs else FlavorPair("", ""))
    return "/what-if?" + urlencode({**node.key._asdict(), **pair._asdict(), **({"amount": new} if new else {})})


def workload_url(namespace: str, name: str) -> str:
    return f"/workloads/{path_part(namespace)}/{path_part(name)}"


def findings_url(root: str) -> str:
    """The findings of the tree with this root."""
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
    """The name as one part of a path."""
    return quote(name, safe="")
