"""The entries of a queue in order: those that will be tried, and the inadmissible ones."""

from __future__ import annotations

from scheduling.queues.entry import PendingEntry
from scheduling.queues.pending import PendingQueue


def tried(queue: PendingQueue) -> list[PendingEntry]:
    return [entry for entry in queue.entries() if queue.is_active(entry.key)]


def set_aside(queue: PendingQueue) -> list[PendingEntry]:
    return [entry for entry in queue.entries() if not queue.is_active(entry.key)]
