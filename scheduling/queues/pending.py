"""The pending workloads of one ClusterQueue: which is the head, and which are inadmissible until something changes.

Workloads with the same scheduling hash, priority, namespace and LocalQueue share a group. A refusal of one holds for
all, so a whole group becomes inadmissible or active at once. The cost of a flush depends on the number of groups, not
on the number of workloads. Source: Kueue v0.19, pkg/cache/queue/cluster_queue.go.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterator
from enum import StrEnum
from fractions import Fraction

from scheduling.objects.queue_settings import BEST_EFFORT_FIFO, STRICT_FIFO
from scheduling.objects.workload import EVICTED, REQUEUED, Workload
from scheduling.queues.entry import EntryGroup, GroupId, Order, PendingEntry, room_for
from scheduling.queues.positions import Positions
from scheduling.status.requeue import backoff_over

__all__ = ["Order", "PendingEntry", "PendingQueue", "Requeue"]


class Requeue(StrEnum):
    """Why a workload returns to its queue after it was tried."""

    GENERIC = ""
    NO_FIT = "NoFit"
    NO_CANDIDATES = "PreemptionNoCandidates"
    NAMESPACE_MISMATCH = "NamespaceMismatch"
    FAILED_AFTER_NOMINATION = "FailedAfterNomination"
    PENDING_PREEMPTION = "PendingPreemption"
    PREEMPTION_FAILED = "PreemptionFailed"
    PREEMPTION_GATED = "PreemptionGated"
    PENDING_MIGRATION = "PendingMigration"
    MISFIT = "Misfit"
    """Its pods could not be created. Only a change of the workload, a LimitRange or a RuntimeClass can help."""


_SAME_FOR_HASH = (Requeue.NO_FIT, Requeue.NO_CANDIDATES)
"""Reasons that hold for all workloads with the same scheduling hash."""
_MAY_SUCCEED_NEXT = (Requeue.FAILED_AFTER_NOMINATION, Requeue.PREEMPTION_FAILED)
"""Reasons after which the next attempt may succeed without another change: others came first, or a write failed."""
_AT_ONCE = (
    Requeue.FAILED_AFTER_NOMINATION,
    Requeue.PENDING_PREEMPTION,
    Requeue.PREEMPTION_FAILED,
    Requeue.PENDING_MIGRATION,
)


class PendingQueue:
    """The pending workloads of a ClusterQueue.

    strategy: StrictFIFO or BestEffortFIFO. It may change while workloads wait.
    usage_of: with admission fair sharing, the usage of a LocalQueue (`namespace/name`); else None.
    keep_progress: a workload that changes, but requests the same, continues its search for flavors (Kueue's gate
        FlavorFungibilityPreserveScanProgress).
    sticky: the workload that preempted others last. It is the head of a BestEffortFIFO queue.
    stuck: the head was tried, and nothing that matters to it has changed since.
    """

    def __init__(
        self,
        strategy: str = BEST_EFFORT_FIFO,
        usage_of: Callable[[str], Fraction] | None = None,
        keep_progress: bool = True,
    ) -> None:
        self.strategy = strategy
        self.usage_of = usage_of
        self.keep_progress = keep_progress
        self.sticky: str | None = None
        self._sticky_generation = 0
        self.stuck = False
        self._active: dict[str, PendingEntry] = {}  # entries in groups, which may be blocked
        self._groups: dict[GroupId, EntryGroup] = {}  # groups of equal entries
        self._by_hash: dict[Hashable, dict[GroupId, EntryGroup]] = {}  # groups by scheduling hash
        self._inadmissible_hashes: set[Hashable] = set()  # hashes whose new entries are inadmissible
        self._unserved_hashes: set[Hashable] = set()  # hashes with groups that a flush left blocked
        self._parked: dict[str, dict[str, PendingEntry]] = {}  # single inadmissible entries by namespace
        self._misfits: dict[str, PendingEntry] = {}  # entries whose pods could not be created
        self._heads: list[tuple[Order, GroupId]] = []  # a heap of the heads of groups, with outdated items
        self._flushed_since_pop = False
        self._positions: Positions | None = None  # the cached positions; None if outdated
        self._oldest: int | None = None  # the cached result of `oldest`

    # --- adding and removing

    def push(self, entry: PendingEntry, now: int) -> None:
        """Add or update a workload. An inadmissible one stays inadmissible unless a change may help."""
        old = self.get(entry.key)
        self._moved(entry.key)
        if old is not None:
            self._carry(old, entry)
        if self.sticky == entry.key and entry.workload.generation != self._sticky_generation:
            self.sticky = None  # others were preempted for its former spec
        parked = self._parked_at(entry.key)
        if parked is not None and not _may_help(parked.workload, entry.workload):
            parked_with = self._misfits if entry.key in self._misfits else self._parked[entry.workload.namespace]
            parked_with[entry.key] = entry
            return
        active = self._active.get(entry.key)
        if active is not None and self._groups[active.group].blocked and not backoff_over(entry.workload, now):
            self.drop(entry.key, forget_sticky=False)
            self._park(entry)
            return
        if active is not None and active.group == entry.group and active.order == entry.order:
            entry.group = active.group
            self._active[entry.key] = self._groups[entry.group].entries[entry.key] = entry
            self.stuck = self.stuck and not _may_help(active.workload, entry.workload)
            return
        self.drop(entry.key, forget_sticky=False)
        if active is not None or backoff_over(entry.workload, now):
            self._activate(entry)
        else:
            self._park(entry)

    def pop(self) -> PendingEntry | None:
        """Remove and return the head; None if there is nothing to try."""
        entry = self.head()
        if entry is not None:
            self._flushed_since_pop = False
            self._moved(entry.key)
            self._remove_active(entry)
        return entry

    def head(self) -> PendingEntry | None:
        if self.usage_of is not None:
            return self._least_used(self.usage_of)
        sticky = self._active.get(self.sticky or "")
        if sticky is not None and self.strategy == BEST_EFFORT_FIFO and not self._groups[sticky.group].blocked:
            return sticky
        while self._heads:
            order, id_ = self._heads[0]
            group = self._groups.get(id_)
            first = group.head() if group is not None and not group.blocked else None
            if first is not None and first.order == order:
                return first
            heapq.heappop(self._heads)
        return None

    def requeue(self, entry: PendingEntry, reason: Requeue, now: int) -> bool:
        """Return a popped entry to the queue, unless it was pushed again meanwhile. Returns whether it is active."""
        there = self.get(entry.key)
        self._moved(entry.key)
        unfinished = entry.progress is not None and entry.progress.pending
        again = self._at_once(reason) or unfinished or self._flushed_since_pop
        if there is not None:
            self._carry(entry, there)
            if entry.key not in self._active and again and backoff_over(there.workload, now):
                self.drop(entry.key, forget_sticky=False)
                self._activate(there)
            return entry.key in self._active
        if reason == Requeue.PENDING_PREEMPTION:
            self.sticky, self._sticky_generation = entry.key, entry.workload.generation
        if not backoff_over(entry.workload, now):
            self._park(entry)
            return False
        if again:
            self._activate(entry)
            self.stuck = not (unfinished or self._flushed_since_pop or reason in _MAY_SUCCEED_NEXT)
            return True
        if reason in _SAME_FOR_HASH and self.strategy != STRICT_FIFO and entry.scheduling_hash:
            self.block(entry.scheduling_hash)
            self._activate(entry)
        elif reason == Requeue.MISFIT:
            self._misfits[entry.key] = entry
        else:
            self._park(entry)
        return False

    def drop(self, key: str, forget_sticky: bool = True) -> PendingEntry | None:
        """Remove a workload, active or inadmissible."""
        self._moved(key)
        if forget_sticky and self.sticky == key:
            self.sticky = None
        entry = self._active.get(key)
        if entry is not None:
            self._remove_active(entry)
            if not self.has_hash(entry.scheduling_hash):  # a later equal workload is tried, and gets a reason to wait
                self._inadmissible_hashes.discard(entry.scheduling_hash)
                self._unserved_hashes.discard(entry.scheduling_hash)
            return entry
        entry = self._parked_at(key)
        if entry is not None and self._misfits.pop(key, None) is None:
            self._unpark(entry)
        return entry

    def block(self, scheduling_hash: Hashable) -> int:
        """Make all workloads with this hash inadmissible until the next flush, new ones included.

        Returns their number.
        """
        if not scheduling_hash:
            return 0
        self._inadmissible_hashes.add(scheduling_hash)
        moved = 0
        for group in self._by_hash.get(scheduling_hash, {}).values():
            if not group.blocked:
                group.blocked = True
                moved += len(group.entries)
        return moved

    def flush(self, serves: Callable[[str], bool], now: int) -> int:
        """Activate inadmissible workloads after a change. Returns their number.

        Workloads in backoff, in namespaces that `serves` rejects, and with the reason MISFIT stay inadmissible: the
        change does not help them.
        """
        self._flushed_since_pop = True
        self.stuck = False
        moved, still = 0, set()
        for scheduling_hash in self._inadmissible_hashes | self._unserved_hashes:
            for group in self._by_hash.get(scheduling_hash, {}).values():
                if not group.blocked or serves(group.id.namespace):
                    moved += self._unblock(group)
                else:
                    still.add(scheduling_hash)
        self._inadmissible_hashes, self._unserved_hashes = set(), still
        if self.strategy == STRICT_FIFO:  # the queue was BestEffortFIFO when they became inadmissible
            moved += len(self._misfits)
            for entry in [*self._misfits.values()]:
                self.drop(entry.key, forget_sticky=False)
                self._activate(entry)
        for namespace in [namespace for namespace in self._parked if serves(namespace)]:
            for entry in [*self._parked[namespace].values()]:
                if backoff_over(entry.workload, now):
                    self._unpark(entry)
                    self._activate(entry)
                    moved += 1
        return moved

    # --- queries

    def get(self, key: str) -> PendingEntry | None:
        return self._active.get(key) or self._parked_at(key)

    def __len__(self) -> int:
        return len(self._active) + len(self._misfits) + sum(map(len, self._parked.values()))

    def has_inadmissible(self) -> bool:
        """Whether a flush may activate a workload."""
        return bool(self.stuck or self._parked or self._inadmissible_hashes or self._unserved_hashes)

    def hashes(self) -> int:
        return len(self._by_hash)

    def has_hash(self, scheduling_hash: Hashable) -> bool:
        return scheduling_hash in self._by_hash

    def is_active(self, key: str) -> bool:
        """Whether the workload will be tried, that is, is not inadmissible."""
        return key in self._active and not self.is_blocked(key)

    def is_blocked(self, key: str) -> bool:
        """Whether the workload is inadmissible because an equal one was refused."""
        entry = self._active.get(key)
        return entry is not None and self._groups[entry.group].blocked

    def alike(self, key: str) -> list[str]:
        entry = self.get(key)
        groups = self._by_hash.get(entry.scheduling_hash, {}) if entry is not None else {}
        return [each for group in groups.values() for each in group.entries]

    def sorts(self) -> Iterator[tuple[PendingEntry, int, bool]]:
        """Yield one entry for each group of equal ones, with their number, and whether they will be tried."""
        for group in self._groups.values():
            entries = group.entries.values()
            if group.id.scheduling_hash:
                yield next(iter(entries)), len(entries), not group.blocked
            else:
                yield from ((entry, 1, not group.blocked) for entry in entries)
        for parked in (self._misfits, *self._parked.values()):
            yield from ((entry, 1, False) for entry in parked.values())

    def count_active(self) -> int:
        return sum(len(group.entries) for group in self._groups.values() if not group.blocked)

    def entries(self) -> list[PendingEntry]:
        """All entries in queue order."""
        waiting = self._waiting()
        if self.usage_of is None:
            return sorted(waiting, key=lambda entry: (entry.key != self._first(), entry.order))
        usage = {queue: self.usage_of(queue) for queue in {entry.workload.local_queue for entry in waiting}}
        first = self._first()
        return sorted(waiting, key=lambda each: (usage[each.workload.local_queue], each.key != first, each.order))

    def oldest(self) -> int | None:
        """The earliest time at which a waiting workload began to wait; None if none waits. It is cached."""
        if self._oldest is None:
            self._oldest = min((entry.workload.pending_since for entry in self._waiting()), default=None)
        return self._oldest

    def positions(self) -> Positions:
        """The positions of all workloads, valid until something changes. It is cheaper than sorting by `entries`."""
        if self._positions is None:
            self._positions = Positions(self._waiting())
        self._positions.catch_up(self.get)
        self._positions.usage_of, self._positions.first = self.usage_of, self._first()
        return self._positions

    # --- internals

    def _waiting(self) -> list[PendingEntry]:
        parked = (entry for parked in self._parked.values() for entry in parked.values())
        return [*self._active.values(), *self._misfits.values(), *parked]

    def _moved(self, key: str) -> None:
        self._oldest = None
        if self._positions is not None and not self._positions.moved(key):
            self._positions = None

    def _first(self) -> str | None:
        return self.sticky if self.strategy == BEST_EFFORT_FIFO else None

    def _at_once(self, reason: Requeue) -> bool:
        if self.strategy == STRICT_FIFO:
            return reason != Requeue.NAMESPACE_MISMATCH
        return reason in _AT_ONCE

    def _carry(self, old: PendingEntry, new: PendingEntry) -> None:
        """Copy the progress of the search for flavors, and the assignment of a preemption, to the new entry."""
        if self.keep_progress and new.progress is None and new.scheduling_hash == old.scheduling_hash:
            new.progress = old.progress
        if new.workload.pod_sets == old.workload.pod_sets:
            new.preempted_for = old.preempted_for

    def _activate(self, entry: PendingEntry) -> None:
        self.stuck = False
        id_ = entry.group
        group = self._groups.get(id_)
        if group is None:
            blocked = self.strategy != STRICT_FIFO and entry.scheduling_hash in self._inadmissible_hashes
            group = self._groups[id_] = EntryGroup(id_, blocked)
            self._by_hash.setdefault(id_.scheduling_hash, {})[id_] = group
        group.add(entry)
        self._active[entry.key] = entry
        if group.head() is entry:
            self._offer(group)

    def _unblock(self, group: EntryGroup) -> int:
        if not group.blocked:
            return 0
        group.blocked = False
        self._offer(group)
        return len(group.entries)

    def _offer(self, group: EntryGroup) -> None:
        """Add the head of the group to the heads, after it became the head or active again."""
        first = group.head()
        if first is None or group.blocked:
            return
        heapq.heappush(self._heads, (first.order, group.id))
        if len(self._heads) > room_for(len(self._groups)):
            heads = ((each.head(), each) for each in self._groups.values() if not each.blocked)
            self._heads = sorted((head.order, each.id) for head, each in heads if head is not None)

    def _remove_active(self, entry: PendingEntry) -> None:
        self.stuck = False
        del self._active[entry.key]
        group = self._groups[entry.group]
        was_head = group.head() is entry
        group.remove(entry)
        if group.entries:
            if was_head:
                self._offer(group)
        else:
            del self._groups[group.id], self._by_hash[group.id.scheduling_hash][group.id]
            if not self._by_hash[group.id.scheduling_hash]:
                del self._by_hash[group.id.scheduling_hash]

    def _park(self, entry: PendingEntry) -> None:
        self._parked.setdefault(entry.workload.namespace, {})[entry.key] = entry

    def _unpark(self, entry: PendingEntry) -> None:
        namespace = self._parked[entry.workload.namespace]
        del namespace[entry.key]
        if not namespace:
            del self._parked[entry.workload.namespace]

    def _parked_at(self, key: str) -> PendingEntry | None:
        return self._misfits.get(key) or self._parked.get(key.partition("/")[0], {}).get(key)

    def _least_used(self, usage_of: Callable[[str], Fraction]) -> PendingEntry | None:
        heads = (head for group in self._groups.values() if not group.blocked and (head := group.head()) is not None)
        sticky = self._first()
        return min(
            heads, key=lambda each: (usage_of(each.workload.local_queue), each.key != sticky, each.order), default=None
        )


def _may_help(before: Workload, after: Workload) -> bool:
    """Whether the change may make the workload fit now, or ends its backoff."""
    return (
        before.generation != after.generation
        or before.pod_sets != after.pod_sets
        or before.queue != after.queue
        or before.priority != after.priority
        or before.active != after.active
        or before.reclaimable != after.reclaimable
        or before.preemption_gated != after.preemption_gated
        or before.conditions.get(EVICTED) != after.conditions.get(EVICTED)
        or before.conditions.get(REQUEUED) != after.conditions.get(REQUEUED)
        or (_time(before) != 0 and _time(after) == 0)
    )


def _time(workload: Workload) -> int:
    """When the workload may return to its queue; 0 if no time is set."""
    return workload.requeue.at if workload.requeue is not None else 0
