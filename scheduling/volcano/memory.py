"""Failed attempts of a session that need not be repeated: full nodes, and vain reclaims.

Without it, each of ten thousand equal pods would look at every node. Room on nodes only shrinks until a pod is removed;
then the memory is cleared.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from scheduling.volcano.machines import Room
from scheduling.volcano.objects import Task
from scheduling.volcano.resources import fits

_Shape = Hashable


class Memory:
    """The failed attempts over these nodes, which are tried in this order."""

    def __init__(self, rooms: Mapping[str, Room]) -> None:
        self._rooms = [*rooms.values()]
        self._first: dict[tuple[_Shape, bool], int] = {}  # by key and `free`: the first node that may have room
        self._vain: set[Hashable] = set()  # queues and keys of vain reclaims

    def worth_a_look(self, task: Task, *, free: bool) -> Iterator[Room]:
        """The nodes that may have room for the pod, in order: with `free` now, else after leaving pods have left."""
        key = (_shape(task), free)
        for i in range(self._first.get(key, 0), len(self._rooms)):
            room = self._rooms[i]
            if fits(task.request, room.idle if free else room.future_idle()):
                yield room
            elif self._first.get(key, 0) == i:
                self._first[key] = i + 1

    def in_vain(self, queue: str, task: Task) -> bool:
        """Whether the queue failed to reclaim for an equal pod, and nothing has changed since."""
        return (queue, _shape(task)) in self._vain

    def was_in_vain(self, queue: str, task: Task) -> None:
        self._vain.add((queue, _shape(task)))

    def changed(self, *, grew: bool) -> None:
        """Forget vain reclaims after a change; if room `grew` on a node, also which nodes were full."""
        self._vain.clear()
        if grew:
            self._first.clear()


def _shape(task: Task) -> _Shape:
    """The key of a pod: pods with the same key fit on the same nodes and may reclaim the same pods."""
    claims = tuple(sorted(task.claims))
    return (tuple(sorted(task.request.items())), task.placement, task.priority, task.group if claims else "", claims)
