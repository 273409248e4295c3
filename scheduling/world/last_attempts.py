"""Stores why workloads wait, by the last cycle that tried them. Kueue calls this the inadmissible reason."""

from __future__ import annotations

from collections.abc import Hashable

from scheduling.queues.entry import PendingEntry, room_for
from scheduling.queues.pending import PendingQueue
from scheduling.world.decisions import Wait


class LastAttempts:
    """The last attempts.

    An attempt counts for the head, and for all workloads with its hash if it became inadmissible. Attempts are
    numbered, so that the last one of both counts.
    """

    def __init__(self) -> None:
        self._number = 0
        self._by_key: dict[str, tuple[int, Wait]] = {}  # number and attempt by workload
        # by ClusterQueue and hash: number and attempt of inadmissible workloads
        self._by_hash: dict[str, dict[Hashable, tuple[int, Wait]]] = {}

    def record(self, entry: PendingEntry, wait: Wait, pending: PendingQueue) -> None:
        """Store the attempt. `pending`: the queue of the entry."""
        self._number += 1
        self._by_key[entry.key] = self._number, wait
        if not wait.inadmissible:
            return
        alike = self._by_hash.setdefault(wait.queue, {})
        alike[entry.scheduling_hash] = self._number, wait
        if len(alike) > room_for(pending.hashes()):
            for gone in [each for each in alike if not pending.has_hash(each)]:
                del alike[gone]

    def of(self, queue: str, entry: PendingEntry, *, any_names: bool = False) -> Wait | None:
        """The last attempt of the entry at this ClusterQueue, or of one with the same scheduling hash.

        None if none was tried.

        any_names: whether pod sets of the other one may have other names, which are in the message. Kueue 0.20 leaves
            them out of the hash.
        """
        own, alike = self._by_key.get(entry.key), self._by_hash.get(queue, {}).get(entry.scheduling_hash)
        if own is not None and own[1].queue != queue:
            own = None  # it has moved since
        if alike is not None and not any_names and alike[1].workload.pod_set_names != entry.workload.pod_set_names:
            alike = None
        found = max(filter(None, (own, alike)), key=lambda numbered: numbered[0], default=None)
        return found[1] if found is not None else None

    def forget(self, key: str) -> None:
        """Forget a workload (`namespace/name`) that no longer waits."""
        self._by_key.pop(key, None)

    def drop_queue(self, queue: str) -> None:
        self._by_hash.pop(queue, None)
