"""YuniKorn's queues and waiting Pods as JSON, for simulations and for the reconciler's API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policies.dialects.yunikorn_config.quotas import queue_amount
from scheduling.yunikorn.queue import QueueLack, YuniKornQueue
from scheduling.yunikorn.usage import Applications, rows
from scheduling.yunikorn.waiting import WaitingAllocation


def queue_node(queue: YuniKornQueue, applications: Applications) -> dict[str, Any]:
    """The queue as JSON, in the common form of the nodes of all trees."""
    return {
        "dialect": "YuniKorn",
        "kind": "Queue",
        "name": queue.path,
        "parent": queue.parent.path if queue.parent is not None else None,
        "children": [queue.children[name].path for name in sorted(queue.children)],
        "quota": [row(resource, own) for resource, own in rows(queue)],
        "applications": applications._asdict(),
    }


def row(resource: str, own: Mapping[str, str], children: Mapping[str, str] | None = None) -> dict[str, Any]:
    """One resource of a node without flavors."""
    return {"flavor": "", "resource": resource, "own": dict(own), "children": dict(children or {})}


def waiting_json(each: WaitingAllocation) -> dict[str, Any]:
    """A waiting Pod with its reason. Amounts are written as in queues.yaml."""
    return {
        "pod": each.key,
        "application": each.application,
        "queue": each.queue,
        "reason": each.reason,
        "message": each.message,
        "lacks": list(map(_lack, each.lacks)),
    }


def _lack(lack: QueueLack) -> dict[str, str]:
    amounts = {"asked": lack.requested, "used": lack.used, "limit": lack.limit, "short": lack.short}
    texts = {word: queue_amount(lack.resource, amount) for word, amount in amounts.items()}
    return {"queue": lack.queue, "resource": lack.resource, "whose": lack.whose, **texts}
