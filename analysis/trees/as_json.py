"""The trees of a forest with their usage as JSON: the output of `quotree tree -o json`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from analysis.context import Context
from analysis.trees.quotas import QuotaRow, Quotas, with_quota
from analysis.trees.usage import NamespaceUsage, UsageSources
from analysis.trees.view import ALL, ShownTree
from analysis.trees.walk import DrawnNode, cycles, walk
from policies.dialects import kueue, volcano
from policies.dialects.yunikorn import PARENT_QUEUE
from policies.model.forest import Forest
from policies.model.objects import Ref
from scheduling.yunikorn.as_json import queue_node
from scheduling.yunikorn.usage import Applications, applications_below

DIALECTS = {kueue.GROUP: "Kueue", volcano.GROUP: "Volcano"}


def trees_as_json(forest: Forest, context: Context, sources: UsageSources, view: ShownTree = ALL) -> dict[str, Any]:
    """The trees in the form of docs/schemas/tree.schema.json."""
    drawn = view.drawn(forest)
    quotas = sources.quotas(forest, [each.ref for each in (drawn if view.whole else walk(forest))])
    return {
        "apiVersion": "quotree.dev/v1alpha1",
        "kind": "Tree",
        "context": {"against": context.against.kind, "name": context.against.name},
        "nodes": [
            *(node_entry(forest, quotas[each.ref.group], each) for each in drawn),
            *_yunikorn_json(forest, sources, view),
        ],
        "cycles": [[ref.name for ref in cycle] for cycle in cycles(forest)],
    }


def merged_roots(documents: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """The trees of several roots as one document, in which each node names its root.

    documents: the name of each root with its trees.
    """
    if len(documents) == 1:
        return documents[0][1]
    nodes = [{**node, "root": name} for name, each in documents for node in each["nodes"]]
    return {**documents[0][1], "nodes": nodes, "cycles": [cycle for _, each in documents for cycle in each["cycles"]]}


def _yunikorn_json(forest: Forest, sources: UsageSources, view: ShownTree) -> Iterator[dict[str, Any]]:
    if sources.yunikorn is not None:
        counts, queues = applications_below(sources.yunikorn.scheduler), sources.yunikorn.scheduler.tree.root.walk()
        yield from (queue_node(queue, counts[queue]) for queue in queues if view.shows_queue(queue.path))
    usage = NamespaceUsage(sources.yunikorn) if sources.yunikorn is not None and sources.yunikorn.has_work else None
    for namespace, quota in with_quota(forest):
        name, parent = namespace.ref.name, namespace.annotations.get(PARENT_QUEUE)
        if not view.shows_namespace(name):
            continue
        if usage is None:
            yield namespace_entry(namespace.ref, parent, quota)
        else:
            yield namespace_entry(namespace.ref, parent, usage.rows(name, quota), usage.applications(name))


def node_entry(forest: Forest, quotas: Quotas, drawn: DrawnNode) -> dict[str, Any]:
    node = forest.node(drawn.ref)
    return {
        **_identity(drawn.ref, DIALECTS[drawn.ref.group]),
        "exists": node is not None,
        "parent": node.parent.name if node and node.parent else None,
        "children": [child.ref.name for child in forest.children(drawn.ref)],
        **quotas.condition(drawn.ref),
        "quota": _rows_json(quotas.rows(drawn.ref)),
        **{counted: dict(by_state) for counted, by_state in quotas.counts(drawn.ref).items()},
    }


def namespace_entry(
    ref: Ref, parent: str | None, quota: list[QuotaRow], applications: Applications | None = None
) -> dict[str, Any]:
    counts = {"applications": applications._asdict()} if applications is not None else {}
    return {**_identity(ref, "YuniKorn"), "parent": parent, "quota": _rows_json(quota), **counts}


def _identity(ref: Ref, dialect: str) -> dict[str, Any]:
    return {"dialect": dialect, "kind": ref.kind, "name": ref.name}


def _rows_json(quota: list[QuotaRow]) -> list[dict[str, Any]]:
    return [
        {"flavor": row.flavor, "resource": row.resource, "own": dict(row.own), "children": dict(row.below)}
        for row in quota
    ]
