"""What a session need not try again: where there was no room for such a pod, and what was in vain.

Ten thousand pods that look alike would otherwise look at every node each. Room only shrinks until a pod goes; then all
is forgotten.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from scheduling.volcano.machines import Room
from scheduling.volcano.objects import Task
from scheduling.volcano.resources import fits

_Shape = Hashable


class Memory:
    """`rooms` are in the order in which they are looked at."""

    def __init__(self, rooms: Mapping[str, Room]) -> None:
        self._rooms = [*rooms.values()]
        self._first: dict[tuple[_Shape, bool], int] = {}
        self._vain: set[Hashable] = set()

    def worth_a_look(self, task: Task, *, free: bool) -> Iterator[Room]:
        """The nodes that may have room for the pod, those first that come first; now, or once what leaves has left."""
        key = (_shape(task), free)
        for i in range(self._first.get(key, 0), len(self._rooms)):
            room = self._rooms[i]
            if fits(task.request, room.idle if free else room.future_idle()):
                yield room
            elif self._first.get(key, 0) == i:
                self._first[key] = i + 1

    def in_vain(self, queue: str, task: Task) -> bool:
        """Whether the queue tried to reclaim for such a pod, and nothing has changed since."""
        return (queue, _shape(task)) in self._vain

    def was_in_vain(self, queue: str, task: Task) -> None:
        self._vain.add((queue, _shape(task)))

    def changed(self, *, grew: bool) -> None:
        """Something was placed or evicted; `grew`: there is more room somewhere than before."""
        self._vain.clear()
        if grew:
            self._first.clear()


def _shape(task: Task) -> _Shape:
    """What decides where a pod may go, and what may go for it."""
    claims = tuple(sorted(task.claims))
    return (tuple(sorted(task.request.items())), task.placement, task.priority, task.group if claims else "", claims)
