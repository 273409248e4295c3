"""Lets Pods pass the gate as YuniKorn's quota allows, in YuniKorn's order, and says why others wait.

One write at a time for each Pod, bound to the version that it was decided on. A Pod that may pass counts from that
decision on, until the API server has stored or refused it or the Pod is gone.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.configuration.settings import YuniKornSettings
from reconciler.controllers.yunikorn.kinds import GATED_POD, MAPS, NAMESPACE, WATCHED
from reconciler.controllers.yunikorn.namespace_writes import conditions
from reconciler.controllers.yunikorn.pod_writes import cut_off, passes, waits
from reconciler.core.controller import Busy, Controller, WaitFor, WakeAt, Wanted
from reconciler.core.records import Records
from reconciler.objects.observed import Key, Observed
from reconciler.objects.wanted import WantedWrite
from scheduling.objects.times import SECOND
from scheduling.yunikorn.gated_pod import GatedPod
from scheduling.yunikorn.gatekeeper import Gatekeeper
from scheduling.yunikorn.queues_in_force import QueuesInForce

PERIOD = 10 * SECOND
"""How often, in nanoseconds, all that wait are asked anew why, and Namespaces say what is in use."""
_ALL: Key = ("GatedPods", "")
_IN_USE: Key = ("QuotaInUse", "")


class QuotaGatesController(Controller):
    """`records` has Pods and Namespaces as they are stored."""

    watched = WATCHED

    def __init__(self, records: Records, settings: YuniKornSettings) -> None:
        self.keeper = Gatekeeper(QueuesInForce(settings.namespace))
        self._records = records
        self._due: dict[Key, None] = {}
        self._outdated = False
        self._again = 0
        self._used: dict[str, None] = {}
        self._used_again = 0

    # --- what is observed

    def observe(self, observed: Observed) -> None:
        kind, name = observed.key
        if kind in MAPS:
            self.keeper.queues.put(MAPS[kind], observed.value)
        elif kind == NAMESPACE.kind:
            self.keeper.put_namespace(name, observed.value)
            self._due[observed.key] = None
        else:
            self.keeper.put_pod(name, observed.value)
            self._due[observed.key] = None
            self._used[name.partition("/")[0]] = None
        self._outdated = True

    def gone(self, key: Key) -> None:
        if key[0] == GATED_POD.kind:
            self.keeper.put_pod(key[1], None)

    def wake(self, item: Key) -> None:
        """A decision whose write has failed is no more than a wish: others may have decided since."""
        if item == _ALL:
            self._due.update(dict.fromkeys((GATED_POD.kind, name) for name in self.keeper.waiting()))
        if item in (_ALL, _IN_USE):
            return
        self._due[item] = None
        if item[0] == GATED_POD.kind:
            self.keeper.doubt(item[1])

    # --- what is wanted

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        passing = self.keeper.decide(now)
        if self._outdated and now >= self._again and self.keeper.waiting():
            self._outdated, self._again = False, now + PERIOD
            yield WakeAt(_ALL, self._again)
        yield from self._count(now)
        due = {**dict.fromkeys((GATED_POD.kind, name) for name in passing), **self._due}
        self._due = {}
        for key in due:
            if busy(*key):
                yield WaitFor(key, key)
            elif (observed := self._records.get(key)) is not None:
                write = self._namespace(observed, now) if key[0] == NAMESPACE.kind else self._pod(observed)
                if write is not None:
                    yield write
                    yield WaitFor(key, key)

    def _count(self, now: int) -> Iterator[WakeAt]:
        """Namespaces of which Pods came, passed or went say what is in use: at once, then from time to time."""
        if not self._used:
            return
        if now < self._used_again:
            yield WakeAt(_IN_USE, self._used_again)
            return
        self._used_again = now + PERIOD
        self._due.update(dict.fromkeys((NAMESPACE.kind, name) for name in self._used))
        self._used = {}

    def _pod(self, observed: Observed) -> WantedWrite | None:
        pod: GatedPod = observed.value
        if pod.gated and not pod.leaving:
            queue = self.keeper.granted.get(pod.key)
            waiting = self.keeper.why(pod.key)
            return passes(observed, queue) if queue else waits(observed, waiting) if waiting else None
        return cut_off(observed) if self._slipped(pod) else None

    def _slipped(self, pod: GatedPod) -> bool:
        """Whether somebody else took the gate off."""
        unnoticed = pod.marked and not pod.gated and not pod.admitted and not pod.finished and not pod.leaving
        return unnoticed and self.keeper.spaces.has_quota(pod.namespace)

    def _namespace(self, observed: Observed, now: int) -> WantedWrite | None:
        """What its conditions say: whether its quota can be read, and what of it is in use."""
        name = observed.key[1]
        flaw = self.keeper.spaces.flaw(name) if self.keeper.spaces.has_quota(name) else ""
        return conditions(observed, flaw, self.keeper.usage(name), now)
