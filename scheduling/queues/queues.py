"""The pending workloads of all ClusterQueues, and the events that make inadmissible ones active again.

An event marks the queues that it may help. `flush` then activates the inadmissible workloads in their trees, once for
any number of events. Its cost depends only on the queues with inadmissible workloads.
Source: Kueue v0.19, pkg/cache/queue/manager.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from scheduling.objects.grouped import Grouped
from scheduling.objects.inadmissible_reasons import MISCONFIGURED, SUSPENDED
from scheduling.objects.queue_settings import ClusterQueueSettings, LocalQueueSettings
from scheduling.objects.workload import Workload
from scheduling.queues.pending import PendingEntry, PendingQueue, Requeue
from scheduling.quota.node import QuotaNode
from scheduling.quota.tree import QuotaTree


@dataclass(frozen=True, slots=True)
class Blocker:
    """Why a workload is in no ClusterQueue: the reason and message of its condition QuotaReserved.

    inadmissible: the message of its condition Requeued, which is False if the workload itself is the cause.
    """

    reason: str
    message: str
    inadmissible: str = ""


class PendingQueues:
    """The queues of a cluster.

    entry_of: makes the queue entry of a workload. Its second argument is the current entry, if there is one.
    usage_of: the usage of a LocalQueue (`namespace/name`), for admission fair sharing; None if that is off.
    """

    def __init__(
        self,
        tree: QuotaTree,
        entry_of: Callable[[Workload, PendingEntry | None], PendingEntry],
        usage_of: Callable[[str], Fraction] | None = None,
    ) -> None:
        self.usage_of = usage_of
        self._entry_of = entry_of
        self.pending: dict[str, PendingQueue] = {}
        self.local_queues: dict[str, LocalQueueSettings] = {}
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self._tree = tree
        self._settings: dict[str, ClusterQueueSettings] = {}  # ClusterQueues by name
        self._at: dict[str, dict[str, Workload]] = {}  # queueable workloads by LocalQueue
        self._kept_out: Grouped[str, str, Workload] = Grouped()  # those that may not be queued now, by LocalQueue
        self._blockers: dict[str, Blocker] = {}  # why the devices of a workload cannot be counted
        self._local_of: dict[str, dict[str, None]] = {}  # LocalQueues by ClusterQueue
        self._local_in: dict[str, dict[str, None]] = {}  # LocalQueues by namespace
        self._workloads: dict[str, Workload] = {}  # queueable workloads by key
        self._ready: set[str] = set()  # ClusterQueues whose head may be tried
        self._reserving: dict[str, PendingEntry] = {}  # heads that reserve capacity, by ClusterQueue
        self._to_flush: set[str] = set()  # ClusterQueues whose trees the next `flush` activates
        self._with_reservation: set[str] = set()  # ClusterQueues with a new reservation since the last `flush`
        self._outdated: set[str] = set()  # ClusterQueues with a reservation that messages of stuck heads do not count
        self._unfit: dict[str, Requeue] = {}  # ClusterQueues whose stuck head does not fit, or found no candidates
        self._with_inadmissible: dict[QuotaNode, set[str]] = {}  # by root: ClusterQueues with inadmissible workloads

    # --- changes

    def put_queue(self, settings: ClusterQueueSettings, now: int) -> None:
        """Add or update a ClusterQueue. A new one gets the workloads that wait at its LocalQueues."""
        queue = self.pending.get(settings.name)
        self._settings[settings.name] = settings
        usage_of = self.usage_of if settings.usage_based else None
        if queue is not None:
            queue.strategy, queue.usage_of = settings.strategy, usage_of
            return
        self.pending[settings.name] = PendingQueue(settings.strategy, usage_of)
        for local in self._local_of.get(settings.name, {}):
            self._admit_all(local, now)

    def drop_queue(self, name: str) -> None:
        """Remove a ClusterQueue. Its workloads are then in no queue."""
        self.pending.pop(name, None)
        self._unfit.pop(name, None)
        self._settings.pop(name, None)
        self._ready.discard(name)
        self._reserving.pop(name, None)
        self._sort_by_root()
        self._with_inadmissible.get(self._tree.queues[name].root, set()).discard(name)

    def put_local_queue(self, settings: LocalQueueSettings, now: int) -> None:
        old = self.local_queues.get(settings.key)
        if old == settings:
            return
        if old is not None and old == replace(settings, weight=old.weight):
            self.local_queues[settings.key] = settings  # the workloads stay in the queue, as does the next preemptor
        else:
            self.drop_local_queue(settings.key)
            self.local_queues[settings.key] = settings
            self._local_of.setdefault(settings.cluster_queue, {})[settings.key] = None
            self._local_in.setdefault(settings.namespace, {})[settings.key] = None
            self._admit_all(settings.key, now)
        if settings.cluster_queue in self.pending and self._at.get(settings.key):
            self.wake(settings.cluster_queue)  # their conditions still name the stopped or missing LocalQueue

    def drop_local_queue(self, key: str) -> None:
        """Remove a LocalQueue. Its workloads are in no ClusterQueue until a LocalQueue with its name exists again."""
        settings = self.local_queues.pop(key, None)
        if settings is None:
            return
        del self._local_of[settings.cluster_queue][key], self._local_in[settings.namespace][key]
        if settings.cluster_queue in self.pending:
            for workload in self._at.get(key, {}):
                self._leave(settings.cluster_queue, workload)

    def put(self, workload: Workload, now: int) -> None:
        """Add or update a workload that may be queued."""
        key = workload.key
        old = self._workloads.get(key)
        if old is not None and old.queue != workload.queue:
            self.drop(key)
        self._let_in(key)
        self._workloads[key] = workload
        self._at.setdefault(workload.local_queue, {})[key] = workload
        self._admit(workload, now)

    def keep_out(self, workload: Workload, blocker: Blocker | None = None) -> None:
        """Add or update a workload that may not be queued now, for example because of an admission gate.

        blocker: why, if only its requests tell.
        """
        self.drop(workload.key)
        if blocker is not None:
            self._blockers[workload.key] = blocker
        self._kept_out.put(workload.key, workload.local_queue, workload)

    def drop(self, key: str) -> None:
        self._let_in(key)
        workload = self._workloads.pop(key, None)
        if workload is None:
            return
        local = workload.local_queue
        del self._at[local][key]
        if not self._at[local]:
            del self._at[local]
        queue = self.queue_of(workload)
        if queue is not None:
            self._leave(queue, key)

    def _let_in(self, key: str) -> None:
        if self._kept_out.pop(key) is not None:
            self._blockers.pop(key, None)

    def _leave(self, queue: str, key: str) -> None:
        if self.pending[queue].drop(key) is not None:
            self._ready.add(queue)  # it may have been the head, behind which others waited
        reserving = self._reserving.get(queue)
        if reserving is not None and reserving.key == key:
            self._reserve(queue, None)

    # --- heads

    def heads(self, may: Callable[[str], bool]) -> list[tuple[str, PendingEntry]]:
        """Remove and return the head of each ClusterQueue that may admit, with the queue's name.

        A head that reserves capacity is included if another head of its tree is. Otherwise that one would take the
        capacity. A head reserves it while its victims have not ended, or if its ClusterQueue is StrictFIFO and there
        are no candidates. If there is no head to try, stuck heads that do not fit are included where quota was
        reserved since: they still wait, but their messages name an amount that is out of date.

        may: whether the ClusterQueue may admit now.
        """
        found = self._pop_ready(may)
        if not found and self._outdated:
            self._retry(Requeue.NO_FIT, self._outdated)
            self._outdated.clear()
            found = self._pop_ready(may)
        return [*found, *self._claims(found, may)]

    def _pop_ready(self, may: Callable[[str], bool]) -> list[tuple[str, PendingEntry]]:
        found: list[tuple[str, PendingEntry]] = []
        # a new set, since a set that was large once stays slow to iterate
        names, self._ready = sorted(self._ready), set()
        for name in names:
            if not may(name):
                continue
            queue = self.pending[name]
            entry = None if queue.stuck else queue.pop()
            if entry is not None:
                self._ready.add(name)
                found.append((name, entry))
        return found

    def _retry(self, reason: Requeue, changed: Iterable[str]) -> None:
        """Let the heads that are stuck for this reason in the trees of these ClusterQueues be tried again."""
        self._sort_by_root()
        for root in self._roots(changed):
            for name in self._with_inadmissible.get(root, ()):
                if self._unfit.get(name) == reason:
                    self.pending[name].stuck = False
                    self._ready.add(name)

    def _claims(
        self, found: list[tuple[str, PendingEntry]], may: Callable[[str], bool]
    ) -> list[tuple[str, PendingEntry]]:
        if not found or not self._reserving:
            return []
        trees, there = {self._tree.queues[name].root for name, _ in found}, {name for name, _ in found}
        claims: list[tuple[str, PendingEntry]] = []
        for name in sorted(self._reserving.keys() - there):
            node = self._tree.queues.get(name)
            if node is not None and node.root in trees and may(name):
                entry = self.pending[name].pop()
                claims += [(name, entry)] if entry is not None else []
        return claims

    def reserved_elsewhere(self, queue: str) -> bool:
        """Whether the head of another ClusterQueue of its tree reserves capacity."""
        root, nodes = self._tree.queues[queue].root, self._tree.queues
        return any(name != queue and name in nodes and nodes[name].root is root for name in self._reserving)

    def exhaust(self, queue: str) -> None:
        """Note that another attempt at the head would end the same until something changes."""
        self.pending[queue].stuck = True
        self._note(queue)

    def requeue(
        self, queue: str, entry: PendingEntry, reason: Requeue, now: int, reserves_capacity: bool = False
    ) -> bool:
        """Return a head that was tried to its queue. Returns whether it is active. `reserves_capacity`: see `Wait`."""
        self._ready.add(queue)
        active = self.pending[queue].requeue(entry, reason, now)
        self._unfit.pop(queue, None)
        if active and reason in (Requeue.NO_CANDIDATES, Requeue.NO_FIT):
            self._unfit[queue] = reason
        self._reserve(queue, entry if active and reserves_capacity else None)
        self._note(queue)
        return active

    def _reserve(self, queue: str, head: PendingEntry | None) -> None:
        """Let this head reserve capacity for the ClusterQueue.

        If another head reserved some, the tree is tried again.
        """
        before = self._reserving.pop(queue, None)
        if head is not None:
            self._reserving[queue] = head
        if before is None or before is head:
            return
        self._sort_by_root()
        for name in self._with_inadmissible.get(self._tree.queues[queue].root, ()):
            self.pending[name].stuck = False
            self._ready.add(name)

    def note_reservation(self, queue: str) -> None:
        """Note a new reservation in the ClusterQueue: it may be a candidate for heads that found none."""
        self._with_reservation.add(queue)

    def wake(self, queue: str) -> None:
        """Try the head of the ClusterQueue again, and at the next flush the inadmissible workloads of its tree."""
        self._ready.add(queue)
        self._to_flush.add(queue)

    def flush(self, now: int) -> int:
        """Activate inadmissible workloads in the trees of the queues that were woken. Returns their number.

        In a tree with a new reservation, heads are tried again that found no candidates for preemption.
        """
        roots = self._roots(self._to_flush)
        self._to_flush.clear()
        moved = self.flush_trees(roots, now) if roots else 0
        if self._with_reservation:
            self._retry(Requeue.NO_CANDIDATES, self._with_reservation)
            self._outdated |= self._with_reservation
            self._with_reservation.clear()
        return moved

    def _roots(self, queues: Iterable[str]) -> set[QuotaNode]:
        return {self._tree.queues[name].root for name in queues if name in self._tree.queues}

    def flush_trees(self, roots: Iterable[QuotaNode], now: int) -> int:
        """Activate inadmissible workloads in the trees of these roots. Returns their number."""
        self._sort_by_root()
        moved = 0
        for root in roots:
            if root.on_cycle:
                continue  # nothing is admitted in a tree with a cycle
            for name in sorted(self._with_inadmissible.get(root, ())):
                moved += self._flush_queue(root, name, now)
        return moved

    def _flush_queue(self, root: QuotaNode, name: str, now: int) -> int:
        queue = self.pending[name]
        moved = queue.flush(self.serves(name), now)
        self._ready.add(name)
        if not queue.has_inadmissible():
            self._with_inadmissible[root].discard(name)
        return moved

    def _sort_by_root(self) -> None:
        """Find the new root of each ClusterQueue with inadmissible workloads, if edges of its tree changed."""
        names = [name for root in self._tree.reshaped for name in self._with_inadmissible.pop(root, ())]
        self._tree.reshaped.clear()
        for name in names:
            if name in self.pending:
                self._note(name)

    def _note(self, name: str) -> None:
        if self.pending[name].has_inadmissible():
            self._with_inadmissible.setdefault(self._tree.queues[name].root, set()).add(name)

    def serves(self, queue: str) -> Callable[[str], bool]:
        """A function that tells whether the ClusterQueue's namespaceSelector matches a namespace."""
        selector = self._settings[queue].selector

        def is_served(namespace: str) -> bool:
            labels = self.namespaces.get(namespace)
            return labels is not None and selector is not None and selector.matches(labels)

        return is_served

    # --- queries

    def queue_of(self, workload: Workload) -> str | None:
        """The ClusterQueue in which the workload waits; None if it is in none."""
        local = self.local_queues.get(workload.local_queue)
        if local is None or local.stopped or local.cluster_queue not in self.pending:
            return None
        return local.cluster_queue if workload.key not in self._blockers else None

    def blocker(self, workload: Workload) -> Blocker | None:
        """Why the workload is in no ClusterQueue; None if it is in one."""
        local = self.local_queues.get(workload.local_queue)
        if local is None:
            return Blocker(MISCONFIGURED, f"LocalQueue {workload.queue} doesn't exist")
        if local.stopped:
            return Blocker(SUSPENDED, f"LocalQueue {workload.queue} is inactive")
        if local.cluster_queue not in self.pending:
            return Blocker(MISCONFIGURED, f"ClusterQueue {local.cluster_queue} doesn't exist")
        return self._blockers.get(workload.key)

    def waiting_at(self, local_queue: str) -> Iterable[Workload]:
        """The workloads that name this LocalQueue (`namespace/name`)."""
        return self._at.get(local_queue, {}).values()

    def kept_out_at(self, local_queue: str) -> Iterable[Workload]:
        """The workloads that name this LocalQueue, but may not be queued now."""
        return self._kept_out.of(local_queue).values()

    def local_queues_in(self, namespace: str) -> list[LocalQueueSettings]:
        return [self.local_queues[key] for key in self._local_in.get(namespace, {})]

    def namespaces_with_queues(self) -> Iterable[str]:
        return (name for name, queues in self._local_in.items() if queues)

    def local_queues_of(self, queue: str) -> Iterable[str]:
        """The LocalQueues (`namespace/name`) that point to the ClusterQueue, which may not exist."""
        return self._local_of.get(queue, {})

    def has(self, key: str) -> bool:
        """Whether the workload waits or is kept out. After a failed write it does neither for a while."""
        return key in self._workloads or key in self._kept_out.group_of

    def forget_attempts(self, key: str) -> None:
        """Let the next `put` of the workload queue it like a new one, since its requests may have changed."""
        workload = self._workloads.get(key)
        queue = self.queue_of(workload) if workload is not None else None
        if queue is not None:
            self.pending[queue].drop(key)

    def _admit_all(self, local: str, now: int) -> None:
        for workload in [*self._at.get(local, {}).values()]:
            self._admit(workload, now)

    def _admit(self, workload: Workload, now: int) -> None:
        queue = self.queue_of(workload)
        if queue is not None:
            pending = self.pending[queue]
            pending.push(self._entry_of(workload, pending.get(workload.key)), now)
            self._ready.add(queue)
            self._note(queue)
