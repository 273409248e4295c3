"""Fencing after a change of leader: late writes of the previous leader must not give the same quota away twice.

A process that was stopped, or whose connection hangs, may have sent a write that arrives long after its Lease has
expired. The write is bound to a resource version, so it cannot overwrite a later write of the same object. But it could
give quota to a Workload, or to a Pod at a gate, after another one got that quota.

So before the new leader decides anything for a tree, it writes each object once that might fit into the tree's free
quota. After that a late write to such an object fails with a conflict. A late write to any other object gives no quota,
because there was not enough. Small trees come first, so they need not wait for a tree with many Workloads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from reconciler.core.controller import Controller
from reconciler.core.records import WORKLOAD, Records
from reconciler.core.writes import PendingWrites
from reconciler.objects.observed import Key, Observed
from reconciler.shards.partition import TreePartition
from scheduling.objects.workload import Workload
from scheduling.world.room import may_fit
from scheduling.world.world import World

_EVERY_TREE = ""
_AT_LEAST = 8
"""The fences that may be in flight while decisions keep the writer busy: half of its threads."""


class LeaderFencing:
    """Fences objects tree by tree. `partition.unfenced` has the ClusterQueues with objects that are not fenced yet."""

    def __init__(
        self,
        world: World,
        records: Records,
        writes: PendingWrites,
        partition: TreePartition,
        controllers: Sequence[Controller],
    ) -> None:
        self._controllers = controllers
        self._partition = partition
        self._world = world
        self._records = records
        self._writes = writes
        self._late_writes = False
        self._known = True  # whether the objects to fence are known
        self._unsent: list[tuple[str, Observed[object]]] = []  # with their ClusterQueues; the next one is the last
        self._sent: dict[Key, str] = {}  # the ClusterQueue of each object whose fence is in flight
        self._left: Counter[str] = Counter()  # objects that are not fenced yet, by ClusterQueue

    def begin(self, late_writes: bool) -> None:
        """This process leads. `late_writes`: whether writes of the previous leader may still arrive."""
        self._late_writes = late_writes
        self._known = False

    def proceed(self) -> bool:
        """Fence the next objects. Returns whether decisions may be made for the trees that are fenced.

        May be called only when all objects are known.
        """
        if not self._known:
            if self._undecided():
                return False
            self._find()
        for key, queue in [*self._sent.items()]:
            if not self._in_flight(key):
                del self._sent[key]
                self._fenced(queue)
        self._send()
        return not self._left[_EVERY_TREE]

    def _undecided(self) -> bool:
        """Whether a decision from an earlier time as the leader still counts as usage, and so hides free quota."""
        flights = (self._records.record(key).in_flight for key in self._records.in_flight)
        return any(flight is not None and flight.decided is not None for flight in flights)

    def _find(self) -> None:
        """Find the objects to fence, and sort them: those that all trees wait for first, then the smallest tree."""
        found = dict(self._endangered()) if self._late_writes else {}
        self._known, self._sent, self._left = True, {}, Counter(queue for _, queue in found.values())
        roots = {queue: self._root(queue) for queue in self._left}
        sizes: Counter[str] = Counter()
        for queue, number in self._left.items():
            sizes[roots[queue]] += number
        sizes[_EVERY_TREE] = 0
        self._unsent = [(queue, stored) for stored, queue in found.values()]
        self._unsent.sort(key=lambda each: (sizes[roots[each[0]]], roots[each[0]]), reverse=True)
        self._partition.fence(self._left.keys() - {_EVERY_TREE})

    def _root(self, queue: str) -> str:
        found = self._world.state.queues.get(queue)
        return found.node.root.name if found is not None else _EVERY_TREE

    def _send(self) -> None:
        """Write to the next objects. Not to all at once: writes of trees that are fenced would queue behind them."""
        busy = []
        while self._unsent and (self._records.calm or len(self._sent) < _AT_LEAST):
            queue, stored = self._unsent.pop()
            if self._in_flight(stored.key):
                busy.append((queue, stored))
            elif self._records.at(stored.key) is stored:
                self._writes.fence(stored)
                self._sent[stored.key] = queue
            else:
                self._fenced(queue)  # a late write has the version before the change
        self._unsent += busy

    def _in_flight(self, key: Key) -> bool:
        record = self._records.find(key)
        return record is not None and record.in_flight is not None

    def _fenced(self, queue: str) -> None:
        self._left[queue] -= 1
        if queue and not self._left[queue]:
            self._partition.fenced(queue)

    def _endangered(self) -> Iterator[tuple[Key, tuple[Observed[object], str]]]:
        """The objects that a late write of a process of this part could give quota to, and their ClusterQueues.

        A Workload that backs off is in no queue, so it counts as one that may fit. Pods at a gate have no ClusterQueue.
        """
        resting = (name for kind, name in self._records.backing_off if kind == WORKLOAD)
        for name in (*(each.key for each in may_fit(self._world)), *resting):
            stored = self._records.workload(name)
            if stored is not None and self._partition.holds(self._partition.queue_of(stored.value)):
                yield stored.key, (stored, self._queue_of(stored.value))
        for controller in self._controllers:
            for key in controller.may_get_quota():
                if (at := self._records.at(key)) is not None:
                    yield key, (at, _EVERY_TREE)

    def _queue_of(self, workload: Workload) -> str:
        """The ClusterQueue in which a late write could reserve quota.

        A LocalQueue that is not older than the Workload may have replaced one of another ClusterQueue.
        """
        local = self._world.queues.local_queues.get(workload.local_queue)
        replaced = local is None or local.created >= workload.created
        return _EVERY_TREE if replaced else self._partition.queue_of(workload)
