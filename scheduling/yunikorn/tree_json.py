"""YuniKorn's queues as JSON, in the form of the nodes of all trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduling.yunikorn.queue import Queue
from scheduling.yunikorn.usage import Applications, rows


def queue_node(queue: Queue, applications: Applications) -> dict[str, Any]:
    return {
        "dialect": "YuniKorn",
        "kind": "Queue",
        "name": queue.path,
        "parent": queue.parent.path if queue.parent is not None else None,
        "children": [queue.children[name].path for name in sorted(queue.children)],
        "quota": [row(resource, own) for resource, own in rows(queue)],
        "applications": applications._asdict(),
    }


def row(resource: str, own: Mapping[str, str]) -> dict[str, Any]:
    """One resource of a node without flavors."""
    return {"flavor": "", "resource": resource, "own": dict(own), "children": {}}
