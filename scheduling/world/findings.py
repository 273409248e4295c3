"""Why heads wait, by the last cycle that tried them."""

from __future__ import annotations

from collections.abc import Hashable

from scheduling.queues.entry import Entry, room_for
from scheduling.queues.pending import PendingQueue
from scheduling.world.decisions import Wait


class Findings:
    """Each is told for the head itself, and for all that are alike and were set aside with it."""

    def __init__(self) -> None:
        self._by_key: dict[str, Wait] = {}
        self._by_shape: dict[str, dict[Hashable, Wait]] = {}

    def note(self, entry: Entry, wait: Wait, pending: PendingQueue) -> None:
        """`pending` is the queue that the entry waits at."""
        self._by_key[entry.key] = wait
        if not wait.set_aside:
            return
        alike = self._by_shape.setdefault(wait.queue, {})
        alike[entry.shape] = wait
        if len(alike) > room_for(pending.shapes()):
            for shape in [shape for shape in alike if not pending.has_shape(shape)]:
                del alike[shape]

    def about(self, queue: str, entry: Entry) -> Wait | None:
        """Of the entry at the ClusterQueue, or of one alike; None where none was tried."""
        return self._by_key.get(entry.key) or self._by_shape.get(queue, {}).get(entry.shape)

    def forget(self, key: str) -> None:
        """The workload (`namespace/name`) waits no more."""
        self._by_key.pop(key, None)

    def drop_queue(self, queue: str) -> None:
        self._by_shape.pop(queue, None)
