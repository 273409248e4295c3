"""Which Pods pass the gate: the rules of Volcano's queues, applied to Pods whether they have a node or not.

A Pod that has passed counts until it ends, in the queue where it was admitted. One that never had the gate counts in
the queue of its PodGroup from the moment that it has a node. What is decided and not stored yet is `granted`.
Everything else follows from Pods, PodGroups and Queues, whatever happened before. A queue that is wrong admits nothing,
and stops nobody but those below it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from typing import NamedTuple

from scheduling.queue_tree.waiting_counts import WaitingCounts
from scheduling.volcano.gates.gang import GangWish, GatedGang
from scheduling.volcano.gates.gate_places import GatePlaces
from scheduling.volcano.gates.gate_queues import REASONS as OF_QUEUES
from scheduling.volcano.gates.gate_queues import RECLAIM, GateQueues, PodWait
from scheduling.volcano.gates.gate_turn import Turn
from scheduling.volcano.gates.gated_pod import ALONE, GatedGroup, GatedQueue, Together, VolcanoGatedPod
from scheduling.volcano.gates.lines import GateLines
from scheduling.volcano.gates.reclaim import GateReclaim

NO_GROUP = "NoPodGroup"
GANG = "WaitsForGang"
_MOST_NAMED = 5
REASONS = (*OF_QUEUES, NO_GROUP, GANG)


class Grant(NamedTuple):
    """A Pod may pass: the queue in which it counts, and with whom it passes."""

    queue: str
    together: Together


class _How(Enum):
    WAITS = "waits at the gate"
    COUNTS = "has passed, or may"
    SUCCEEDED = "has passed, and uses nothing any more"


class _Counted(NamedTuple):
    """What a Pod counts as, and for how much."""

    how: _How
    pod: VolcanoGatedPod
    queue: str = ""
    together: Together = ALONE

    def same(self, other: _Counted) -> bool:
        """Whether nothing that is counted differs."""
        mine, others = ((each.how, each.queue, each.together) for each in (self, other))
        return mine == others and self.pod.counts_as(other.pod)


class VolcanoGatekeeper:
    """`granted`: the Pods that may pass, and are not stored so. Pods that are marked for the `others` are not ours.

    `counts`: the waiting Pods as stored. `places`: the queues in which they wait. `reclaim` chooses the victims.
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
        self._pods: dict[str, VolcanoGatedPod] = {}
        self._counted: dict[str, _Counted] = {}
        self._waiting: dict[str, None] = {}
        self._groups: dict[str, GatedGroup] = {}
        self._gangs: dict[str, GatedGang] = {}
        self._followers: dict[str, dict[str, None]] = {}
        self._classes: dict[str, int] = {}
        self._changed: dict[str, None] = {}
        self.reclaim = GateReclaim(self.queues, self._gangs, self.granted) if reclaims else None

    # --- what is observed; None: it is gone

    def put_pod(self, key: str, pod: VolcanoGatedPod | None) -> None:
        before, pod = self._pods.pop(key, None), pod if pod is not None and self._concerns(pod) else None
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
        gang.put_group(found.group if found is not None else None, self._classes.get(gang.priority_class, 0))
        self._changed[name] = None
        after = found.group.queue if found is not None else ""
        if queue != after:
            self.places.move(name, queue, after)
            for key in [*self._followers.get(name, ())]:
                self._recount(key)

    def put_class(self, name: str, value: int | None) -> None:
        """The value of a PriorityClass."""
        self._classes[name] = value or 0
        for gang in self._gangs.values():
            if gang.priority_class == name:
                gang.put_group(gang.group, value or 0)
                self._changed[gang.name] = None

    def put_queue(self, name: str, queue: GatedQueue | None) -> None:
        if self.queues.put(name, queue):
            self._lines.wake_all()
            if self.reclaim is not None:
                self.reclaim.changed()

    def doubt(self, key: str) -> None:
        """What was decided about the Pod may not hold any more: where that is not stored, it is decided anew."""
        if self.granted.pop(key, None) is not None:
            self._recount(key)
        pod = self._pods.get(key)
        if self.reclaim is not None and pod is not None and not pod.deleting:
            self.reclaim.refused(key)

    # --- what follows

    def refresh(self) -> None:
        """Take in what was observed, without a decision."""
        self._renew()

    def decide(self, now: int = 0) -> list[str]:
        """The Pods that may pass from now on, in their order (moment in nanoseconds)."""
        passing: list[str] = []

        def grant(wish: GangWish) -> None:
            for key in wish.keys:
                self.granted[key] = Grant(wish.queue, wish.together)
                self._recount(key)
            self._renew()
            passing.extend(wish.keys)

        self._renew()
        if self.reclaim is not None:
            self._keep_promises(self.reclaim, grant, now)
        Turn(self._lines, self.queues, grant).run()
        if self.reclaim is not None:
            self.reclaim.choose(self._lines.firsts(), now)
        return passing

    def _keep_promises(self, reclaim: GateReclaim, grant: Callable[[GangWish], None], now: int) -> None:
        """Let Pods pass first if others were preempted for them. Quota without a reservation is free for all."""
        before = self.queues.reserved
        reclaim.begin(now)
        for wish in reclaim.due():
            grant(wish)
        after = self.queues.reserved
        for name, amounts in before.items():
            if any(after.get(name, {}).get(resource, 0) < amount for resource, amount in amounts.items()):
                self._lines.released[name] = None

    def why(self, key: str) -> PodWait | None:
        """Why the Pod waits; None if it does not wait, or if nothing is decided yet."""
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
        if lacks := gang.lacks():
            return PodWait(GANG, queue, lacks)
        wish = gang.wish_of(pod.need)
        if wish is not None and self.reclaim is not None:
            going = self.reclaim.victims_for(gang.name, queue, wish.need)
            if going is not None:
                return PodWait(RECLAIM, queue, _victims_text(going))
        refusal = self.queues.refusal(queue, wish.need) if wish is not None else None
        if refusal is not None and wish is not None and len(wish.keys) > 1:
            return replace(refusal, message=f"{len(wish.keys)} members pass together")
        return refusal

    def waiting(self) -> list[str]:
        return [*self._waiting]

    def is_waiting(self, key: str) -> bool:
        return key in self._waiting

    def stands(self, key: str) -> tuple[VolcanoGatedPod, GatedGang | None]:
        """A Pod that waits, and those of its PodGroup. Raises KeyError."""
        pod = self._counted[key].pod
        return pod, self._gangs.get(pod.group)

    def has_passed(self, group: str) -> bool:
        """Whether any Pod of the PodGroup has passed."""
        gang = self._gangs.get(group)
        return gang is not None and gang.begun

    def counted_in(self, key: str) -> str:
        """The queue in which the Pod counts; empty for none."""
        counted = self._counted.get(key)
        return counted.queue if counted is not None else ""

    def fitting(self) -> dict[str, str]:
        """Pods that would pass next in their queue and have room, with that queue. Nothing is decided."""
        firsts = self._lines.firsts()
        return {wish.keys[0]: wish.queue for wish in firsts if self.queues.refusal(wish.queue, wish.need) is None}

    def fitting_with_the_rest(self) -> dict[str, str]:
        """Fitting Pods of PodGroups that then run as many as start together. Volcano binds no others."""
        return {key: queue for key, queue in self.fitting().items() if self._rest_fits(self.stands(key)[1], queue)}

    def _rest_fits(self, gang: GatedGang | None, queue: str) -> bool:
        rest = gang.rest() if gang is not None else None
        return rest is not None and self.queues.refusal(queue, rest) is None

    # --- what counts

    def _recount(self, key: str) -> None:
        """The Pod counts as what it is now."""
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
            return None  # it was never admitted: its PodGroup may have been named afterwards
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

    def _concerns(self, pod: VolcanoGatedPod) -> bool:
        """A Pod that names no PodGroup is Volcano's only where the webhook has marked it so."""
        return pod.project not in self._others and (pod.marked or bool(pod.group))

    def _gang(self, name: str) -> GatedGang:
        return self._gangs.setdefault(name, GatedGang(name))

    def _renew(self) -> None:
        """The lines have what the PodGroups that have changed ask for now."""
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


def _victims_text(pods: list[str]) -> str:
    if not pods:
        return "enough Pods are being deleted already"
    more = f" and {len(pods) - _MOST_NAMED} more" if len(pods) > _MOST_NAMED else ""
    return f"{', '.join(pods[:_MOST_NAMED])}{more} {'are' if len(pods) > 1 else 'is'} being reclaimed"


def _keep(index: dict[str, None], key: str, belongs: bool) -> None:
    if belongs:
        index[key] = None
    else:
        index.pop(key, None)
