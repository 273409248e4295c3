"""With `--mode observe`: the quota with which the Pods that Volcano's scheduler binds are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from cluster.resource import PODS, Manifest
from policies.dialects.core import POD, VOLCANO_SCHEDULER
from policies.dialects.pod_reading import SUCCEEDED
from policies.dialects.quota_gates import QUOTA_KEY
from policies.model.objects import parted
from reconciler.controllers.gates.comparison import EVERYWHERE, GateVerdict, Judge, LetIn, said_of
from reconciler.controllers.volcano.gate_kinds import GATED_CLASS, GATED_GROUP, GATED_QUEUE
from reconciler.controllers.volcano.gates import reason_text
from reconciler.controllers.volcano.kinds import POD_GROUP
from reconciler.core.controller import Controller
from reconciler.objects.observed import Observed
from reconciler.objects.watched import WatchedKind
from scheduling.objects.amounts import add_to
from scheduling.volcano.gates.gate_queues import PodWait
from scheduling.volcano.gates.gated_pod import (
    ALONE,
    GatedGroup,
    Need,
    VolcanoGatedPod,
    read_gated_group,
    read_gated_pod,
)
from scheduling.volcano.gates.gatekeeper import GANG, NO_GROUP, VolcanoGatekeeper
from scheduling.volcano.reading import read_pod_group


def read_scheduled_pod(manifest: Manifest) -> VolcanoGatedPod:
    """Read a Pod of Volcano's scheduler as if it waited at our gate until it is bound.

    `waits` is the reason that Volcano gives. As in Volcano, a Pod that is being deleted uses nothing. A Pod that
    still has a scheduling gate is not compared.
    """
    found = read_gated_pod(manifest)
    return replace(
        found,
        project="",
        gates=() if found.bound else (QUOTA_KEY,),
        admitted="",
        together=ALONE,
        waits=said_of(manifest),
        phase=SUCCEEDED if found.bound and found.deleting else found.phase,
        deleting=found.deleting or (bool(found.gates) and not found.bound),
    )


SCHEDULED_POD: WatchedKind[VolcanoGatedPod] = WatchedKind(
    "VolcanoPod",
    PODS,
    read_scheduled_pod,
    field_selector=f"spec.schedulerName={VOLCANO_SCHEDULER}",
    object_kind=POD.kind,
)


class ScheduledGroup(NamedTuple):
    """A PodGroup.

    `gated`: the PodGroup as our gates see it.
    `phase`: its phase.
    `minimum`: its minResources, which it reserves once it is let into its queue.
    """

    gated: GatedGroup
    phase: str
    minimum: Need


def read_scheduled_group(manifest: Manifest) -> ScheduledGroup:
    found = read_pod_group(manifest, {})
    return ScheduledGroup(read_gated_group(manifest), found.phase, Need((*sorted((found.minimum or {}).items()),)))


SCHEDULED_GROUP: WatchedKind[ScheduledGroup] = WatchedKind(
    "VolcanoPodGroup", GATED_GROUP.resource, read_scheduled_group, object_kind=POD_GROUP.kind
)


class VolcanoComparedPods(Controller):
    """Watches the kinds that the comparison needs. It writes nothing."""

    watched = (GATED_CLASS, GATED_QUEUE, SCHEDULED_GROUP, SCHEDULED_POD)


class VolcanoJudge(Judge[VolcanoGatekeeper]):
    """Judges by quota alone.

    A gang is compared with the room for all Pods that start together. Whether the gang is complete is not compared,
    because a PodGroup may be observed later than its Pods.
    """

    pods = SCHEDULED_POD

    def __init__(self) -> None:
        super().__init__(VolcanoGatekeeper())
        self._elastic = ElasticParts()

    def put_pod(self, observed: Observed[object]) -> str:
        pod = SCHEDULED_POD.value(observed)
        uses = pod is not None and pod.bound and not pod.ended
        self._elastic.put_pod(observed.key[1], pod.group if pod else "", pod.need if pod and uses else None)
        return super().put_pod(observed)

    def take(self, before: Observed[object] | None, after: Observed[object]) -> str | None:
        """Process an object. A new queue or new members of a PodGroup change the quota of its namespace."""
        kind, name = after.key
        if kind == GATED_QUEUE.kind:
            self.keeper.put_queue(name, GATED_QUEUE.value(after))
            return EVERYWHERE if before is None or before.value != after.value else None
        if kind == SCHEDULED_GROUP.kind:
            was, now = _gated(before), _gated(after)
            self.keeper.put_group(name, now)
            scheduled = SCHEDULED_GROUP.value(after)
            self._elastic.put_group(name, now.group.queue if now else "", scheduled.minimum if scheduled else None)
            return parted(name)[0] if was is not None and was != now else None
        if kind == GATED_CLASS.kind:
            self.keeper.put_class(name, GATED_CLASS.value(after))
        return None

    def let_in(self, before: Observed[object] | None, after: Observed[object]) -> LetIn | None:
        """A PodGroup that changes from Pending to Inqueue.

        As in Volcano, what other PodGroups use beyond their minResources does not count here. Their unused reservations
        do not count either.
        """
        name, was, now = after.key[1], SCHEDULED_GROUP.value(before), SCHEDULED_GROUP.value(after)
        if was is None or now is None or (was.phase, now.phase) != ("Pending", "Inqueue"):
            return None
        queue, queues = now.gated.group.queue, self.keeper.queues

        def refused() -> PodWait | None:
            return queues.refusal(queue, now.minimum, self._elastic.by_queue())

        refusal = refused()
        verdict = GateVerdict(
            reason_text(refusal) if refusal is not None else "",
            lambda: not self.keeper.has_passed(name) and refused() is not None,
        )
        return LetIn("PodGroup", name, queue, verdict)

    def verdict(self, name: str) -> GateVerdict | None:
        if not self.keeper.is_waiting(name):
            return None
        waiting = self.keeper.why(name)
        if waiting is None:
            return GateVerdict("", lambda: False)
        if waiting.lacks:
            return GateVerdict(reason_text(waiting), lambda: any(map(self.keeper.queues.is_over, waiting.lacks)))
        return GateVerdict(reason_text(waiting), lambda: waiting.reason not in (NO_GROUP, GANG))

    def queue_of(self, name: str) -> str:
        return self.keeper.counted_in(name)

    def fitting(self) -> Mapping[str, str]:
        return self.keeper.fitting_with_the_rest()


def _gated(observed: Observed[object] | None) -> GatedGroup | None:
    group = SCHEDULED_GROUP.value(observed)
    return group.gated if group is not None else None


class ElasticParts:
    """The usage of each PodGroup's Pods beyond its minResources, which Volcano does not count at enqueue."""

    def __init__(self) -> None:
        self._pods: dict[str, tuple[str, Need]] = {}  # PodGroup and usage of each Pod
        self._used: dict[str, dict[str, int]] = {}  # the sum of usage by PodGroup
        self._groups: dict[str, tuple[str, Need]] = {}  # queue and minResources of each PodGroup

    def put_pod(self, key: str, group: str, need: Need | None) -> None:
        """Store a Pod of the PodGroup `namespace/name`. `need`: its usage; None if it uses nothing."""
        before = self._pods.pop(key, None)
        if need is not None and group:
            self._pods[key] = group, need
            add_to(self._used.setdefault(group, {}), dict(need.amounts))
        if before is not None:
            add_to(self._used[before[0]], dict(before[1].amounts), -1)
            if not self._used[before[0]]:
                del self._used[before[0]]

    def put_group(self, name: str, queue: str, minimum: Need | None) -> None:
        """Store a PodGroup. `minimum`: its minResources; None removes it."""
        self._groups.pop(name, None)
        if minimum is not None:
            self._groups[name] = queue, minimum

    def by_queue(self) -> Iterator[tuple[str, Mapping[str, int]]]:
        """Yield the queue and the elastic amounts of each PodGroup that uses more than its minimum."""
        for name, used in self._used.items():
            if name in self._groups:
                queue, minimum = self._groups[name]
                least = dict(minimum.amounts)
                more = {key: amount - least.get(key, 0) for key, amount in used.items() if amount > least.get(key, 0)}
                if more:
                    yield queue, more
