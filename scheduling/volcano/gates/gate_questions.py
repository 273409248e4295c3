"""The Pods that wait at the gate of Volcano's queues: those of a Namespace, or of a Queue with its descendants.

The places of all these Pods are cheap to read. Reasons are computed only for the Pods that the caller chooses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scheduling.queue_tree.waiting_counts import HAS_ROOM, HAS_ROOM_MESSAGE
from scheduling.volcano.gates.gang import Order
from scheduling.volcano.gates.gate_queues import PodWait
from scheduling.volcano.gates.gatekeeper import VolcanoGatekeeper

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
    """The places of the Pods of a Namespace, not sorted."""
    return [_place(keeper, key) for key in keeper.places.in_namespace(namespace)]


def in_queue(keeper: VolcanoGatekeeper, name: str) -> list[GatePlace]:
    """The places in a queue and its descendants, not sorted. Raises KeyError if the queue does not exist."""
    below = keeper.queues.queues.tree.nodes[name].walk()
    return [_place(keeper, key) for here in below for key in keeper.places.in_queue(here.name)]


def reasons(keeper: VolcanoGatekeeper, places: list[GatePlace]) -> Iterator[WaitingPod]:
    """The reason of each Pod that still waits."""
    for place in places:
        if keeper.is_waiting(place.pod):
            why = keeper.why(place.pod) or PodWait(HAS_ROOM, place.queue, HAS_ROOM_MESSAGE)
            yield WaitingPod(place.pod, place.group, place.queue, why)


def _place(keeper: VolcanoGatekeeper, key: str) -> GatePlace:
    pod, gang = keeper.waiting_pod(key)
    if gang is None or gang.group is None:
        return GatePlace(True, "", _LAST, key, pod.group)
    return GatePlace(False, gang.group.queue, gang.order(pod), key, pod.group)
