"""Items that wait for an object that is in flight or has a backoff, or for a time, so that nothing has to poll."""

from __future__ import annotations

import heapq
from itertools import count

from reconciler.core.controller import Controller, WaitFor, WakeAt
from reconciler.objects.observed import Key


class Waits:
    """What items of controllers wait for. Times are in nanoseconds."""

    def __init__(self) -> None:
        self._by_key: dict[Key, dict[tuple[Controller, Key], None]] = {}
        self._by_moment: list[tuple[int, int, Controller, Key]] = []
        self._moments: set[tuple[int, Controller, Key]] = set()
        self._numbers = count()

    def add(self, controller: Controller, wait: WaitFor | WakeAt) -> None:
        if isinstance(wait, WaitFor):
            self._by_key.setdefault(wait.key, {})[controller, wait.item] = None
        elif (moment := (wait.at, controller, wait.item)) not in self._moments:
            self._moments.add(moment)
            heapq.heappush(self._by_moment, (wait.at, next(self._numbers), controller, wait.item))

    @property
    def next(self) -> int | None:
        """The earliest time that an item waits for."""
        return self._by_moment[0][0] if self._by_moment else None

    def free(self, key: Key) -> None:
        """The object may be written: wake all items that wait for it."""
        for controller, item in self._by_key.pop(key, ()):
            controller.wake(item)

    def ring(self, now: int) -> None:
        """Wake all items whose time has come."""
        while self._by_moment and self._by_moment[0][0] <= now:
            at, _, controller, item = heapq.heappop(self._by_moment)
            self._moments.discard((at, controller, item))
            controller.wake(item)
