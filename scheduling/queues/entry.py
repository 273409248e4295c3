"""A workload that waits, and those alike that wait with it."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from scheduling.objects.requests import PodSetRequests
from scheduling.objects.workload import Workload


class Order(NamedTuple):
    """What comes first: higher priority, earlier moment, then the uid."""

    less_priority: int
    timestamp: int
    uid: str
    key: str


class GroupId(NamedTuple):
    shape: Hashable
    namespace: str
    queue: str
    priority: int


@dataclass(slots=True, eq=False)
class Entry:
    """A workload that waits. `shape` tells what is alike for the scheduler; empty where nothing is known to be.

    `timestamp` is the moment that the order goes by. `progress` is how far the search for flavors came, None where it
    starts anew. `requests` is what the workload asks for, once it was counted.
    """

    workload: Workload
    shape: Hashable
    timestamp: int
    progress: Any = None
    requests: tuple[PodSetRequests, ...] | None = None
    key: str = field(init=False)
    order: Order = field(init=False)
    group: GroupId = field(init=False)

    def __post_init__(self) -> None:
        workload = self.workload
        self.key = workload.key
        self.order = Order(-workload.priority, self.timestamp, workload.uid, self.key)
        self.group = GroupId(self.shape, workload.namespace, workload.queue, workload.priority)


@dataclass(slots=True, eq=False)
class Group:
    """Entries alike, of one LocalQueue. `blocked`: none of them is tried before the next flush."""

    id: GroupId
    blocked: bool = False
    entries: dict[str, Entry] = field(default_factory=dict)
    heap: list[Order] = field(default_factory=list)

    def head(self) -> Entry | None:
        while self.heap:
            entry = self.entries.get(self.heap[0].key)
            if entry is not None and entry.order == self.heap[0]:
                return entry
            heapq.heappop(self.heap)
        return None

    def add(self, entry: Entry) -> None:
        entry.group = self.id  # one object for all
        self.entries[entry.key] = entry
        heapq.heappush(self.heap, entry.order)

    def remove(self, entry: Entry) -> None:
        del self.entries[entry.key]
        if len(self.heap) > room_for(len(self.entries)):
            self.heap = sorted(each.order for each in self.entries.values())


def room_for(used: int) -> int:
    """How long a heap may become of which so many places are in use; the rest is of those that left."""
    return 2 * used + 16
