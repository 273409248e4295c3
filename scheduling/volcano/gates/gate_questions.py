"""The Pods that wait at the gate of Volcano's queues: those of a Namespace, or of a Queue with its descendants.

The places of all these Pods are cheap to read. Reasons are computed only for the Pods that the caller chooses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from scheduling.queue_tree.amounts import Shortage
from scheduling.queue_tree.pod_at_gate import HAS_ROOM, HAS_ROOM_MESSAGE
from scheduling.volcano.gates.gang import Order
from scheduling.volcano.gates.gate_queues import PodWait
from scheduling.volcano.gates.gatekeeper import VolcanoGatekeeper
from scheduling.volcano.resources import amount_text

_LAST: Order = (True, 0, True, 0, "", 0, 0, "")


class GatePlace(NamedTuple):
    """The sort key of a waiting Pod: by the queue of its PodGroup, then in the order in which Pods are tried.

    Pods without a queue come last.
    """

    without_queue: bool
    queue: str
    order: Order
    pod: str
    group: str


class WaitingPod(NamedTuple):
    """A waiting Pod.

    `queue`: the queue of its PodGroup, empty if there is none. `why`: the reason, with the queue that blocks.
    """

    pod: str
    group: str
    queue: str
    why: PodWait


def in_namespace(keeper: VolcanoGatekeeper, namespace: str) -> list[GatePlace]:
    return [_place(keeper, key) for key in keeper.places.in_namespace(namespace)]


def in_queue(keeper: VolcanoGatekeeper, name: str) -> list[GatePlace]:
    """The places in a queue and its descendants, not sorted. Raises KeyError if the queue does not exist."""
    below = keeper.queues.queues.tree.nodes[name].walk()
    return [_place(keeper, key) for here in below for key in keeper.places.in_queue(here.name)]


def reasons(keeper: VolcanoGatekeeper, places: list[GatePlace]) -> Iterator[WaitingPod]:
    for place in places:
        if keeper.is_waiting(place.pod):
            why = keeper.why(place.pod) or PodWait(HAS_ROOM, place.queue, HAS_ROOM_MESSAGE)
            yield WaitingPod(place.pod, place.group, place.queue, why)


def _place(keeper: VolcanoGatekeeper, key: str) -> GatePlace:
    pod, gang = keeper.waiting_pod(key)
    if gang is None or gang.group is None:
        return GatePlace(True, "", _LAST, key, pod.group)
    return GatePlace(False, gang.group.queue, gang.order(pod), key, pod.group)


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
    texts = {word: amount_text(lack.resource, amount) for word, amount in amounts.items()}
    return {"queue": lack.queue, "resource": lack.resource, **texts}
