"""The Pods that wait at the gate of Volcano's queues, as JSON."""

from __future__ import annotations

from typing import Any

from scheduling.queue_tree.shortage import Shortage
from scheduling.volcano.gates.gate_questions import WaitingPod
from scheduling.volcano.resources import written


def waiting_json(each: WaitingPod) -> dict[str, Any]:
    """A waiting Pod with its reason. Amounts are written as in the spec of a Queue."""
    return {
        "pod": each.pod,
        "podGroup": each.group,
        "queue": each.queue,
        "reason": each.why.reason,
        "message": _message(each),
        "lacks": list(map(lack_json, each.why.lacks)),
    }


def _message(each: WaitingPod) -> str:
    """The message. It names the queue that blocks, unless the shortages name it."""
    why = each.why
    elsewhere = why.queue and why.queue != each.queue and not why.lacks
    return f"{why.queue}: {why.message}" if elsewhere else why.message


def lack_json(lack: Shortage) -> dict[str, str]:
    amounts = {"asked": lack.requested, "used": lack.used, "limit": lack.limit, "short": lack.short}
    texts = {word: written(lack.resource, amount) for word, amount in amounts.items()}
    return {"queue": lack.queue, "resource": lack.resource, **texts}
