"""Decides which Pods pass the gate, by the rules of Volcano's queues, whether the Pods have a node or not.

A Pod that has passed counts until it ends, in the queue where it was admitted. A Pod that never had the gate counts in
the queue of its PodGroup once it has a node. `granted` has the decisions that are not stored yet. Everything else
follows from the current Pods, PodGroups and Queues. A faulty queue blocks itself and its descendants, no other queue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import Enum
from typing import NamedTuple

from scheduling.queue_tree.waiting_counts import WaitingCounts
from scheduling.volcano.gates.gang import GatedGang, PodBatch
from scheduling.volcano.gates.gate_places import GatePlaces
from scheduling.volcano.gates.gate_queues import REASONS as OF_QUEUES
from scheduling.volcano.gates.gate_queues import RECLAIM, GateQueues, PodWait
from scheduling.volcano.gates.gate_turn import DecisionRound
from scheduling.volcano.gates.gated_pod import ALONE, GatedGroup, GatedQueue, Together, VolcanoGatedPod
from scheduling.volcano.gates.lines import GateLines
from scheduling.volcano.gates.reclaim import GateReclaim
from scheduling.volcano.reading import ClassPriority, priority_of, values_of

NO_GROUP = "NoPodGroup"
GANG = "WaitsForGang"
REASONS = (*OF_QUEUES, NO_GROUP, GANG)


class Grant(NamedTuple):
    """The permission to pass: the queue in which the Pod counts, and its joint start with other Pods."""

    queue: str
    together: Together


class _How(Enum):
    WAITS = "waits at the gate"
    COUNTS = "has passed, or may pass"
    SUCCEEDED = "has passed, and no longer uses anything"


class _Counted(NamedTuple):
    """How a Pod is counted: as waiting or as using quota, in which queue, and with which joint start."""

    how: _How
    pod: VolcanoGatedPod
    queue: str = ""
    together: Together = ALONE

    def same(self, other: _Counted) -> bool:
        """Whether both count the same."""
        mine, others = ((each.how, each.queue, each.together) for each in (self, other))
        return mine == others and self.pod.counts_as(other.pod)


class VolcanoGatekeeper:
    """The Pods, PodGroups and Queues at the gate, and the decisions about them.

    others: the projects whose Pods another gatekeeper decides.
    granted: the Pods that may pass, and whose gate is not removed in the cluster yet.
    counts: the number of waiting Pods, by their stored reason.
    places: the queues in which Pods wait.
    reclaim: chooses the Pods to evict; None if nothing is reclaimed.
    """

    def __init__(
        self,
        others: frozenset[str] = frozenset(),
        *,
        checks_sums: bool = False,
        reclaims: bool = False,
        root_from_nodes: bool = False,
    ) -> None:
        self._others = others
        self.queues = GateQueues(checks_sums=checks_sums, root_from_nodes=root_from_nodes)
        self.granted: dict[str, Grant] = {}
        self.counts = WaitingCounts(REASONS)
        self.places = GatePlaces()
        self._lines = GateLines()
        self._pods: dict[str, VolcanoGatedPod] = {}  # our Pods as stored
        self._counted: dict[str, _Counted] = {}  # how each Pod is counted
        self._waiting: dict[str, None] = {}  # the waiting Pods
        self._groups: dict[str, GatedGroup] = {}  # PodGroups as stored
        self._gangs: dict[str, GatedGang] = {}
        # Pods that count in the current queue of their PodGroup, by PodGroup
        self._followers: dict[str, dict[str, None]] = {}
        self._classes: dict[str, ClassPriority] = {}  # by name
        self._priorities: dict[str, int] = {}  # their values, see `values_of`
        self._changed: dict[str, None] = {}  # PodGroups whose batches are outdated
        self.reclaim = GateReclaim(self.queues, self._gangs, self.granted) if reclaims else None

    # --- what is observed; None: the object was deleted

    def put_pod(self, key: str, pod: VolcanoGatedPod | None) -> None:
        before, pod = self._pods.pop(key, None), pod if pod is not None and self._is_ours(pod) else None
        self.counts.change(before, pod)
        if self.reclaim is not None:
            self.reclaim.put_pod(key, before, pod)
        if pod is not None:
            self._pods[key] = pod
        if pod is None or not pod.gated or pod.deleting or (before is not None and before.uid != pod.uid):
            self.granted.pop(key, None)
        self._recount(key)

    def put_group(self, name: str, found: GatedGroup | None) -> None:
        if self._groups.get(name) == found:
            return
        if found is not None:
            self._groups[name] = found
        else:
            del self._groups[name]
        gang = self._gang(name)
        queue = gang.group.queue if gang.group is not None else ""
        gang.priority_class = found.priority_class if found is not None else ""
        gang.put_group(found.group if found is not None else None, priority_of(gang.priority_class, self._priorities))
        self._changed[name] = None
        after = found.group.queue if found is not None else ""
        if queue != after:
            self.places.move(name, queue, after)
            for key in [*self._followers.get(name, ())]:
                self._recount(key)

    def put_class(self, name: str, found: ClassPriority | None) -> None:
        """Add, update or, without a class, remove a PriorityClass."""
        if self._classes.get(name) == found:
            return
        self._classes.pop(name, None)
        if found is not None:
            self._classes[name] = found
        self._priorities = values_of(self._classes)
        for gang in self._gangs.values():
            if gang.priority_class == name or gang.priority_class not in self._classes:
                gang.put_group(gang.group, priority_of(gang.priority_class, self._priorities))
                self._changed[gang.name] = None

    def put_queue(self, name: str, queue: GatedQueue | None) -> None:
        if self.queues.put(name, queue):
            self._lines.wake_all()
            if self.reclaim is not None:
                self.reclaim.changed()

    def forget_decision(self, key: str) -> None:
        """Forget an unstored decision about the Pod, for example after a failed write. The Pod is decided again."""
        if self.granted.pop(key, None) is not None:
            self._recount(key)
        pod = self._pods.get(key)
        if self.reclaim is not None and pod is not None and not pod.deleting:
            self.reclaim.refused(key)

    # --- decisions

    def decide(self, now: int = 0) -> list[str]:
        """Decide which Pods may pass from now on. Returns them in their order. `now`: in nanoseconds."""
        passing: list[str] = []

        def grant(batch: PodBatch) -> None:
            for key in batch.keys:
                self.granted[key] = Grant(batch.queue, batch.together)
                self._recount(key)
            self.refresh()
            passing.extend(batch.keys)

        self.refresh()
        if self.reclaim is not None:
            self._keep_promises(self.reclaim, grant, now)
        DecisionRound(self._lines, self.queues, grant).run()
        if self.reclaim is not None:
            self.reclaim.choose(self._lines.firsts(), now)
        return passing

    def _keep_promises(self, reclaim: GateReclaim, grant: Callable[[PodBatch], None], now: int) -> None:
        """Let Pods pass first if others were reclaimed for them.

        Quota that is no longer reserved is free for all Pods.
        """
        before = self.queues.reserved
        reclaim.begin(now)
        for batch in reclaim.due():
            grant(batch)
        after = self.queues.reserved
        for name, amounts in before.items():
            if any(after.get(name, {}).get(resource, 0) < amount for resource, amount in amounts.items()):
                self._lines.released[name] = None

    def why(self, key: str) -> PodWait | None:
        """Why the Pod waits; None if it does not wait, or if it is not decided yet."""
        if key not in self._waiting:
            return None
        pod = self._counted[key].pod
        if not pod.group:
            return PodWait(NO_GROUP, message="names no PodGroup, so there is no queue for it")
        gang = self._gangs[pod.group]
        if gang.group is None:
            return PodWait(NO_GROUP, message=f"PodGroup {pod.group} does not exist")
        queue = gang.group.queue
        if (shut := self.queues.shut(queue)) is not None:
            return shut
        if missing := gang.missing_members():
            return PodWait(GANG, queue, missing)
        batch = gang.batch_of(pod.need)
        if batch is not None and self.reclaim is not None:
            going = self.reclaim.victims_for(gang.name, queue, batch.need)
            if going is not None:
                return PodWait(RECLAIM, queue, _victims_text(going))
        refusal = self.queues.refusal(queue, batch.need) if batch is not None else None
        if refusal is not None and batch is not None and len(batch.keys) > 1:
            return replace(refusal, message=f"{len(batch.keys)} members pass together")
        return refusal

    def may_fit(self) -> Iterator[str]:
        """The waiting Pods of complete gangs that fit into their queues, each without the rest of its gang."""
        for key in self._waiting:
            pod, gang = self.waiting_pod(key)
            if gang is None or gang.group is None or gang.missing_members():
                continue
            if self.queues.refusal(gang.group.queue, pod.need) is None:
                yield key

    def waiting(self) -> list[str]:
        return [*self._waiting]

    def is_waiting(self, key: str) -> bool:
        return key in self._waiting

    def waiting_pod(self, key: str) -> tuple[VolcanoGatedPod, GatedGang | None]:
        """A Pod that waits, and the gang of its PodGroup. Raises KeyError if the Pod is not counted."""
        pod = self._counted[key].pod
        return pod, self._gangs.get(pod.group)

    def has_passed(self, group: str) -> bool:
        gang = self._gangs.get(group)
        return gang is not None and gang.begun

    def counted_in(self, key: str) -> str:
        """The queue in which the Pod counts; empty for none."""
        counted = self._counted.get(key)
        return counted.queue if counted is not None else ""

    def fitting(self) -> dict[str, str]:
        """The Pods that would pass next in their queue and fit, each with that queue. Nothing is decided."""
        firsts = self._lines.firsts()
        return {batch.keys[0]: batch.queue for batch in firsts if self.queues.refusal(batch.queue, batch.need) is None}

    def fitting_with_the_rest(self) -> dict[str, str]:
        """The fitting Pods whose PodGroup also has room for the rest of its gang. Volcano binds no other Pods."""
        return {key: queue for key, queue in self.fitting().items() if self._rest_fits(self.waiting_pod(key)[1], queue)}

    def _rest_fits(self, gang: GatedGang | None, queue: str) -> bool:
        rest = gang.remaining_need() if gang is not None else None
        return rest is not None and self.queues.refusal(queue, rest) is None

    # --- counting

    def _recount(self, key: str) -> None:
        """Count the Pod by its current state, instead of the one before."""
        before, after = self._counted.get(key), self._counted_as(key)
        if before is not None and after is not None and before.same(after):
            self._counted[key] = after
            if self.reclaim is not None and after.how is _How.COUNTS and after.queue:
                self.reclaim.count(after.pod, after.queue, 1)
            return
        for counted, times in ((before, -1), (after, 1)):
            if counted is not None:
                self._count(key, counted, times)
        if after is not None:
            self._counted[key] = after
        else:
            self._counted.pop(key, None)

    def _counted_as(self, key: str) -> _Counted | None:
        pod, grant = self._pods.get(key), self.granted.get(key)
        if pod is None or pod.failed:
            return None
        if pod.ended:
            return _Counted(_How.SUCCEEDED, pod, together=pod.together)
        if grant is not None:
            return _Counted(_How.COUNTS, pod, *grant)
        if pod.gated:
            return None if pod.deleting else _Counted(_How.WAITS, pod)
        if not pod.marked and not pod.bound:
            return None  # it was never admitted, and its annotation may have been added later
        return _Counted(_How.COUNTS, pod, pod.admitted or self._queue_of(pod), pod.together)

    def _queue_of(self, pod: VolcanoGatedPod) -> str:
        gang = self._gangs.get(pod.group)
        return gang.group.queue if gang is not None and gang.group is not None else ""

    def _count(self, key: str, counted: _Counted, times: int) -> None:
        how, pod, queue, together = counted
        if how is _How.WAITS:
            _keep(self._waiting, key, times > 0)
            self.places.put(pod, self._queue_of(pod), times)
        if how is _How.COUNTS and queue:
            self.queues.count(queue, pod.need, times)
            if self.reclaim is not None:
                self.reclaim.count(pod, queue, times)
            if times < 0:
                self._lines.released.update((here.name, None) for here in self.queues.counting(queue).up())
        if not pod.group:
            return
        gang = self._gang(pod.group)
        if how is _How.WAITS:
            gang.wait(pod, times)
        else:
            gang.passes(pod, together, times)
        follows = times > 0 and how is _How.COUNTS and not pod.admitted and key not in self.granted
        _keep(self._followers.setdefault(pod.group, {}), key, follows)
        self._changed[pod.group] = None

    def _is_ours(self, pod: VolcanoGatedPod) -> bool:
        """Whether the Pod is ours. A Pod that names no PodGroup is Volcano's only if the webhook marked it so."""
        return pod.project not in self._others and (pod.marked or bool(pod.group))

    def _gang(self, name: str) -> GatedGang:
        return self._gangs.setdefault(name, GatedGang(name))

    def refresh(self) -> None:
        """Update the lines with the batches of all changed PodGroups, without a decision."""
        if self._changed and self.reclaim is not None:
            self.reclaim.changed()
        for name in self._changed:
            gang = self._gangs[name]
            self._lines.change(*gang.changes())
            if gang.empty:
                del self._gangs[name]
            if not self._followers.get(name, True):
                del self._followers[name]
        self._changed = {}


def _victims_text(pods: int) -> str:
    """Says how many Pods are reclaimed. Their names are not for readers in another namespace."""
    if not pods:
        return "enough Pods are being deleted already"
    return f"{pods} {'Pods are' if pods > 1 else 'Pod is'} being reclaimed"


def _keep(index: dict[str, None], key: str, belongs: bool) -> None:
    if belongs:
        index[key] = None
    else:
        index.pop(key, None)
