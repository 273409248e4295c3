"""Volcano's queues with their quota, allocation and PodGroups. Call this in the loop's thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from reconciler.controllers.volcano.queue_writes import quantity
from reconciler.controllers.volcano.queues import VolcanoQueuesController
from reconciler.core.controller import find
from reconciler.core.core import Core
from scheduling.volcano_queues.queue_object import QueueObject
from scheduling.volcano_queues.tree import VolcanoQueueTree


class NoQueues(LookupError):
    """This process does not manage Volcano's queues."""


def tree(core: Core) -> VolcanoQueueTree:
    """The tree of Volcano's queues. Raises NoQueues."""
    controller = find(core.controllers, VolcanoQueuesController)
    if controller is None:
        raise NoQueues
    return controller.tree


def queue_names(core: Core) -> list[str]:
    return sorted(tree(core).queues)


def queue_nodes(core: Core, names: Iterable[str]) -> list[dict[str, Any]]:
    """The JSON of these queues, as far as they still exist. `podGroups` counts the whole subtree of a queue."""
    known = tree(core)
    return [_node(known, known.queues[name]) for name in names if name in known.queues]


def _node(known: VolcanoQueueTree, queue: QueueObject) -> dict[str, Any]:
    sums, children = known.sums(queue.name), known.children(queue.name)
    return {
        "dialect": "Volcano",
        "kind": "Queue",
        "name": queue.name,
        "exists": True,
        "parent": known.parent(queue.name),
        "children": sorted(children),
        "state": queue.state or "Open",
        "quota": _rows(queue, sums, [known.queues[name] for name in children]),
        "podGroups": {phase: count for (what, phase), count in sorted(sums.items()) if what == "phase" and phase},
    }


def _rows(queue: QueueObject, sums: Mapping[tuple[str, str], int], children: list[QueueObject]) -> list[dict[str, Any]]:
    own: dict[str, dict[str, str]] = {}
    for field, amounts in queue.quota.items():
        for resource, amount in amounts.items():
            own.setdefault(resource, {})[field] = amount.text
    for (what, resource), nano in sums.items():
        if what == "amount":
            own.setdefault(resource, {})["allocated"] = quantity(resource, nano).text
    below: dict[str, dict[str, str]] = {}
    for field in ("guarantee", "deserved"):
        total: Counter[str] = Counter()
        for child in children:
            total.update({resource: amount.nano for resource, amount in child.quota.get(field, {}).items()})
        for resource, nano in total.items():
            below.setdefault(resource, {})[field] = quantity(resource, nano).text
    return [
        {"flavor": "", "resource": resource, "own": own.get(resource, {}), "children": below.get(resource, {})}
        for resource in sorted({*own, *below})
    ]
