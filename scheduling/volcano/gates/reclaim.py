"""Chooses Pods to reclaim at the gate, so that a queue gets its deserved amount.

A queue may reclaim a resource only while it stays within its deserved amount. If it names no deserved amount of the
resource, the nearest ancestor that does counts instead. Victims are outside of that queue, those of the nearest
relatives first. A queue that loses a Pod must not fall below its deserved amount, unless it also contains the
reclaiming Pod. So a reclaim brings one queue nearer to its deserved amount, and can move only ancestors of that queue
away from theirs. Two queues therefore never take the same quota from each other in turns.

A *promise* is a batch of Pods for which others are reclaimed. The quota that they free is reserved for it. Pods that
are being deleted anyway count as victims, so a new process continues where the last one stopped.
Source: Volcano v1.16, plugins/capacity; unlike there, a victim's queue has what it deserves afterwards as well.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import cmp_to_key
from typing import NamedTuple

from scheduling.objects.amounts import add_to
from scheduling.objects.times import SECOND
from scheduling.volcano.gates.gang import GatedGang, PodBatch
from scheduling.volcano.gates.gate_queues import QUOTA, GateQueues
from scheduling.volcano.gates.gated_pod import Need, VolcanoGatedPod
from scheduling.volcano.gates.reclaim_search import ReclaimCandidates, ReclaimSearch, Unit, freed
from scheduling.volcano.queue_order import common_depth
from scheduling.volcano.queues import Node

PATIENCE = 600 * SECOND
"""How long a promise waits for Pods to end, in nanoseconds. A Pod on a lost node may never end."""
_SPARED = 60 * SECOND
"""How long a Pod that could not be evicted is not chosen again."""
_PERIOD = SECOND
"""The least time between two searches."""
_UNSET = 0


class _Promise(NamedTuple):
    """A batch for which Pods are reclaimed, and the moment at which it expires (nanoseconds)."""

    batch: PodBatch
    until: int


class GateReclaim:
    """The current promises and victims.

    gangs: the gangs of the gatekeeper, by PodGroup.
    granted: the Pods that may pass, and whose gate is not removed yet.
    victims: the Pods to evict, each with the batch for which it is reclaimed.
    """

    def __init__(self, queues: GateQueues, gangs: Mapping[str, GatedGang], granted: Mapping[str, object]) -> None:
        self.victims: dict[str, PodBatch] = {}
        self._queues = queues
        self._gangs = gangs
        self._granted = granted
        self._held: dict[str, dict[str, dict[str, VolcanoGatedPod]]] = {}  # the counted Pods by queue, PodGroup and key
        self._places: dict[str, tuple[str, VolcanoGatedPod]] = {}  # each counted Pod with its queue
        self._leaving: dict[str, int] = {}  # leaving Pods, and until when their end is awaited
        self._spared: dict[str, int] = {}  # Pods that could not be evicted, and until when they are not chosen
        self._promises: dict[str, _Promise] = {}  # by leaf queue
        self._balance: dict[str, dict[str, int]] = {}  # by queue: promised amounts minus amounts of leaving Pods
        self._again = 0  # the earliest moment of the next search
        self._last = ""  # the queue at which a search reached its limit
        self._tried: dict[str, PodBatch] = {}  # by queue: the batch at which a search reached its limit
        self._changed = False  # whether anything has changed since the last search
        self._in_vain: set[PodBatch] = set()  # the batches without victims, since the last change
        self._unfinished = False  # whether the last search reached its limit

    # --- what is observed

    def count(self, pod: VolcanoGatedPod, queue: str, times: int) -> None:
        """Count the Pod in the queue; with `times` -1, stop counting it."""
        self._changed = True
        group = self._held.setdefault(queue, {}).setdefault(pod.group, {})
        if times > 0:
            group[pod.key] = pod
            self._places[pod.key] = queue, pod
            return
        group.pop(pod.key, None)
        self._places.pop(pod.key, None)
        if not group:
            del self._held[queue][pod.group]
        if not self._held[queue]:
            del self._held[queue]

    def put_pod(self, key: str, before: VolcanoGatedPod | None, pod: VolcanoGatedPod | None) -> None:
        """Take in the Pod as it is stored now; None: it was deleted."""
        if pod is None or pod.ended or (before is not None and before.uid != pod.uid):
            for each in (self.victims, self._leaving, self._spared):
                each.pop(key, None)
        elif pod.deleting:
            self._leaving.setdefault(key, _UNSET)

    def changed(self) -> None:
        """Note that queues or PodGroups have changed, so that the next search is not skipped."""
        self._changed = True

    def refused(self, key: str) -> None:
        """Note that the Pod could not be deleted. For a while it is not chosen again."""
        if self.victims.pop(key, None) is not None:
            self._leaving.pop(key, None)
            self._spared[key] = _UNSET
            self._changed = True

    # --- decisions

    def begin(self, now: int) -> None:
        """Begin a round: forget expired promises and those that cannot be kept, and reserve quota for the others."""
        for moments, patience in ((self._leaving, PATIENCE), (self._spared, _SPARED)):
            for key, until in [*moments.items()]:
                if until == _UNSET:
                    moments[key] = now + patience
        for key in [key for key, until in self._spared.items() if until <= now]:
            del self._spared[key]
            self._changed = True
        self._count(now)
        for leaf, promise in [*self._promises.items()]:
            if promise.until <= now or not self._is_current(promise.batch) or self._can_never_fit(leaf, promise.batch):
                self._drop(leaf)
                self._count(now)
        self._reserve()

    def due(self) -> Iterator[PodBatch]:
        """Yield the promised batches that fit now, and forget their promises."""
        for leaf, promise in [*self._promises.items()]:
            if not self._is_current(promise.batch):
                continue
            self._count_promised(leaf, promise.batch, -1)
            if self._queues.refusal(leaf, promise.batch.need) is None:
                del self._promises[leaf]
                yield promise.batch
            else:
                self._count_promised(leaf, promise.batch, 1)

    def choose(self, batches: Iterable[PodBatch], now: int) -> None:
        """Choose victims for the waiting batches. A queue has at most one promise at a time."""
        if not (self._changed or self._unfinished) or now < self._again:
            return
        if self._changed:
            self._in_vain.clear()
        self._changed, self._unfinished, self._again = False, False, now + _PERIOD
        order = self._queues.order
        found: dict[str, list[PodBatch]] = {}
        for batch in batches:
            if batch.queue not in self._promises and batch not in self._in_vain:
                found.setdefault(batch.queue, []).append(batch)
        open_ones = [name for name in found if self._queues.shut(name) is None]
        ordered = sorted(sorted(open_ones), key=cmp_to_key(order.compare))
        if self._last in ordered:  # the last search reached its limit at this queue
            start = ordered.index(self._last) + 1
            ordered = ordered[start:] + ordered[:start]
        self._tried = {name: batch for name, batch in self._tried.items() if name in found}
        candidates = ReclaimCandidates(self._last_served_first() if ordered else [], self._units, self._leaving)
        for name in ordered:
            self._choose_for(name, sorted(found[name]), candidates, now)
            if candidates.is_exhausted:
                self._last, self._unfinished = name, True
                return
        self._last = ""

    def _choose_for(self, name: str, batches: list[PodBatch], candidates: ReclaimCandidates, now: int) -> None:
        """Choose victims for the first batch of the queue that has any.

        If the search reaches its limit, the next turn of the queue goes on with the batch after it.
        """
        tried = self._tried.pop(name, None)
        start = bisect_right(batches, tried) if tried is not None else 0
        for batch in batches[start:] + batches[:start]:
            units = self._units_for(batch, candidates)
            if units is not None:
                self._promise(batch, units, now)
                return
            self._in_vain.add(batch)
            if candidates.is_exhausted:
                self._tried[name] = batch
                return

    def next(self, now: int) -> int | None:
        """When the next round is due, even if nothing changes (nanoseconds); None if no round is due."""
        moments = [*(p.until for p in self._promises.values()), *self._spared.values()]
        if self._promises:
            moments += self._leaving.values()
        if self._changed or self._unfinished:
            moments.append(max(self._again, now + 1))
        return min((moment for moment in moments if moment > now), default=None)

    def victims_for(self, group: str, queue: str, need: Need) -> int | None:
        """The number of victims whose end the PodGroup waits for; None if nothing is reclaimed for this need."""
        promise = self._promises.get(queue)
        if promise is None or (promise.batch.group, promise.batch.need) != (group, need):
            return None
        return sum(batch.group == group for batch in self.victims.values())

    # --- promises

    def _is_current(self, batch: PodBatch) -> bool:
        gang = self._gangs.get(batch.group)
        found = gang.batches.get(batch.need) if gang is not None else None
        return found is not None and found.queue == batch.queue

    def _promise(self, batch: PodBatch, units: list[Unit], now: int) -> None:
        self._promises[batch.queue] = _Promise(batch, now + PATIENCE)
        self._count_promised(batch.queue, batch, 1)
        for pod in (pod for unit in units for pod in unit):
            self.victims[pod.key] = batch
            self._leaving[pod.key] = now + PATIENCE
            queue, _ = self._places[pod.key]
            self._add(queue, pod.need, -1)
            self._reserve_on(queue)

    def _drop(self, leaf: str) -> None:
        """Forget the promise. Pods that are not being deleted yet may stay."""
        group = self._promises.pop(leaf).batch.group
        self._changed = True
        for key in [key for key, batch in self.victims.items() if batch.group == group]:
            del self.victims[key]
            place = self._places.get(key)
            if place is None or not place[1].deleting:
                self._leaving.pop(key, None)

    def _count(self, now: int) -> None:
        """Count the balance of each queue: the promised amounts minus the amounts of Pods that are about to end.

        It is counted once in each round. Later changes of a promise update only the queues on its path.
        """
        self._balance = {}
        for leaf, promise in self._promises.items():
            self._add(leaf, promise.batch.need, 1)
        for key, until in self._leaving.items():
            if key in self._places and until > now:
                queue, pod = self._places[key]
                self._add(queue, pod.need, -1)

    def _add(self, queue: str, need: Need, times: int) -> None:
        for here in self._queues.counting(queue).up():
            add_to(self._balance.setdefault(here.name, {}), dict(need.amounts), times)

    def _count_promised(self, leaf: str, batch: PodBatch, times: int) -> None:
        self._add(leaf, batch.need, times)
        self._reserve_on(leaf)

    def _reserve(self) -> None:
        self._queues.reserved = {}
        for leaf in self._promises:
            self._reserve_on(leaf)

    def _reserve_on(self, queue: str) -> None:
        """Reserve the balance in the queue and its ancestors, where it is above 0."""
        for here in self._queues.counting(queue).up():
            kept = {name: amount for name, amount in self._balance.get(here.name, {}).items() if amount > 0}
            if kept:
                self._queues.reserved[here.name] = kept
            else:
                self._queues.reserved.pop(here.name, None)

    # --- victims

    def _can_never_fit(self, leaf: str, batch: PodBatch) -> bool:
        """Whether the batch does not fit even after all leaving Pods have ended."""
        self._add(leaf, batch.need, -1)
        excess = ReclaimSearch(self._queues, self._balance, batch).excess
        self._add(leaf, batch.need, 1)
        return bool(excess)

    def _units_for(self, batch: PodBatch, candidates: ReclaimCandidates) -> list[Unit] | None:
        """Choose the victims of the batch. Empty if enough Pods are ending already; None if reclaim cannot help."""
        refusal = self._queues.refusal(batch.queue, batch.need)
        if refusal is None or refusal.reason != QUOTA or not batch.reclaims:
            return None
        search = ReclaimSearch(self._queues, self._balance, batch)
        claims = search.claims()
        if not claims:
            return None
        chosen: list[tuple[Node, Unit]] = []
        for leaf in self._nearest(search.leaf, candidates.queues):
            if not search.excess:
                break
            candidates.looked_at += 1
            wanted = search.wanted(leaf, claims)
            for unit in candidates.units(leaf.name) if wanted else ():
                if not wanted.isdisjoint(freed(unit)) and search.take(leaf, unit):
                    chosen.append((leaf, unit))
                    wanted = search.wanted(leaf, claims)
                if not wanted:
                    break
        if search.excess:
            return None
        return [unit for leaf, unit in chosen if not search.may_stay(leaf, unit)]

    def _last_served_first(self) -> list[Node]:
        """The queues with Pods that may be reclaimed, in the reverse order of service."""
        order = self._queues.order

        def compare(a: Node, b: Node) -> int:
            return order.compare(b.name, a.name)

        nodes = (self._queues.queues.get(name) for name in sorted(self._held))
        found = [node for node in nodes if node and node.settings.reclaimable and not node.detached]
        return sorted(found, key=cmp_to_key(compare))

    def _nearest(self, mine: Node, last_served: Iterable[Node]) -> list[Node]:
        """The other queues, those with the deepest common ancestor first. Equally near queues keep their order."""
        above = self._queues.order.above
        path = above(mine)
        others = (node for node in last_served if node is not mine)
        return sorted(others, key=lambda node: -common_depth(above(node), path))

    def _units(self, queue: str) -> Iterator[Unit]:
        """Yield the units of the queue, last served PodGroup first: Pods beyond minMember, then the rest as one
        unit.
        """
        for name in sorted(self._held[queue], key=self._rank, reverse=True):
            pods = [pod for key, pod in self._held[queue][name].items() if key not in self._leaving]
            pods.sort(key=lambda pod: (-pod.priority, pod.created, pod.key), reverse=True)
            gang = self._gangs.get(name)
            least = gang.least if gang is not None and name else 0
            spare = len(pods) - least if least > 1 else len(pods)
            going = pods[: max(0, spare)]
            yield from ((pod,) for pod in going if self._may_go(pod))
            rest = tuple(pods[len(going) :])
            if rest and all(map(self._may_go, rest)):
                yield rest

    def _rank(self, group: str) -> tuple[int, int, str]:
        found = self._gangs.get(group)
        of = found.group if found is not None else None
        return (-of.priority, of.created, group) if of is not None else (0, 0, group)

    def _may_go(self, pod: VolcanoGatedPod) -> bool:
        return not (pod.stays or pod.gated or pod.deleting or pod.key in self._spared or pod.key in self._granted)
