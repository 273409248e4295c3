"""A pending workload, and a group of pending workloads that the scheduler treats alike."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from scheduling.objects.requests import PodSetRequests
from scheduling.objects.workload import Workload


class Order(NamedTuple):
    """The sort key: higher priority, then earlier timestamp, then uid."""

    less_priority: int
    timestamp: int
    uid: str
    key: str


class GroupId(NamedTuple):
    """The key of pending workloads that the scheduler treats alike. `queue`: the LocalQueue."""

    scheduling_hash: Hashable
    namespace: str
    queue: str
    priority: int


@dataclass(slots=True, eq=False)
class PendingEntry:
    """A pending workload.

    scheduling_hash: equal for workloads that the scheduler treats alike; empty if no other one is treated alike.
    timestamp: its place in the order.
    progress: where its last search for flavors ended; None to start from the first flavor.
    preempted_for: the assignment for which it preempted others last.
    requests: its requests; None until they are counted.
    basis: the inputs of the hash and the requests; empty if they are not known.
    """

    workload: Workload
    scheduling_hash: Hashable
    timestamp: int
    progress: Any = None
    preempted_for: Any = None
    requests: tuple[PodSetRequests, ...] | None = None
    basis: tuple[object, ...] = ()
    key: str = field(init=False)
    order: Order = field(init=False)
    group: GroupId = field(init=False)

    def __post_init__(self) -> None:
        workload = self.workload
        self.key = workload.key
        self.order = Order(-workload.priority, self.timestamp, workload.uid, self.key)
        self.group = GroupId(self.scheduling_hash, workload.namespace, workload.queue, workload.priority)


@dataclass(slots=True, eq=False)
class EntryGroup:
    """Entries of a LocalQueue that are treated alike. `blocked`: all are inadmissible until the next flush."""

    id: GroupId
    blocked: bool = False
    entries: dict[str, PendingEntry] = field(default_factory=dict)
    heap: list[Order] = field(default_factory=list)

    def head(self) -> PendingEntry | None:
        while self.heap:
            entry = self.entries.get(self.heap[0].key)
            if entry is not None and entry.order == self.heap[0]:
                return entry
            heapq.heappop(self.heap)
        return None

    def add(self, entry: PendingEntry) -> None:
        entry.group = self.id  # all entries share one object
        self.entries[entry.key] = entry
        heapq.heappush(self.heap, entry.order)

    def remove(self, entry: PendingEntry) -> None:
        del self.entries[entry.key]
        if len(self.heap) > room_for(len(self.entries)):
            self.heap = sorted(each.order for each in self.entries.values())


def room_for(used: int) -> int:
    """The largest size of a heap with `used` live entries. Its other entries have left the queue."""
    return 2 * used + 16
