"""The Pods that wait at the gate of Volcano's queues, in order: of a Namespace, or of a Queue with all below it.

Places are read at the cost of what waits there, reasons only of those that are asked for.
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
    """Where a Pod stands: sorted, by the queue of its PodGroup, in the order in which they are tried. Those that are in
    no queue come last.
    """

    without_queue: bool
    queue: str
    order: Order
    pod: str
    group: str


class WaitingPod(NamedTuple):
    """`queue` is that of its PodGroup, empty for none; `why` names the one that keeps it."""

    pod: str
    group: str
    queue: str
    why: PodWait


def in_namespace(keeper: VolcanoGatekeeper, namespace: str) -> list[GatePlace]:
    """The places of a Namespace, in no order."""
    return [_place(keeper, key) for key in keeper.places.in_namespace(namespace)]


def in_queue(keeper: VolcanoGatekeeper, name: str) -> list[GatePlace]:
    """The places in a queue and below, in no order. Raises KeyError if the queue does not exist."""
    below = keeper.queues.queues.tree.nodes[name].walk()
    return [_place(keeper, key) for here in below for key in keeper.places.in_queue(here.name)]


def reasons(keeper: VolcanoGatekeeper, places: list[GatePlace]) -> Iterator[WaitingPod]:
    """The reason of each Pod that still waits."""
    for place in places:
        if keeper.is_waiting(place.pod):
            why = keeper.why(place.pod) or PodWait(HAS_ROOM, place.queue, HAS_ROOM_MESSAGE)
            yield WaitingPod(place.pod, place.group, place.queue, why)


def _place(keeper: VolcanoGatekeeper, key: str) -> GatePlace:
    pod, gang = keeper.stands(key)
    if gang is None or gang.group is None:
        return GatePlace(True, "", _LAST, key, pod.group)
    return GatePlace(False, gang.group.queue, gang.order(pod), key, pod.group)
