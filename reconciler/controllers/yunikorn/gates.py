"""Lets Pods pass the gate as YuniKorn's quota allows, in YuniKorn's order, and says why others wait.

One write at a time for each Pod, bound to the version that it was decided on. A Pod that may pass counts from that
decision on, until the API server has stored or refused it or the Pod is gone.
"""

from __future__ import annotations

from collections.abc import Iterator

from cluster.actions import Patch
from cluster.resource import NAMESPACES
from policies.configuration.settings import YuniKornSettings
from policies.dialects.yunikorn_config.configmap import CONFIGS, DEFAULTS
from policies.model.printing import plain
from reconciler.controllers.yunikorn.kinds import GATED_POD, NAMESPACE, QUEUE_CONFIGS, QUEUE_DEFAULTS, WATCHED
from reconciler.controllers.yunikorn.pod_writes import MANAGER, cut_off, passes, waits
from reconciler.core.controller import Busy, Controller, WaitFor, WakeAt, Wanted
from reconciler.core.records import Records
from reconciler.objects.moments import whole_second
from reconciler.objects.observed import Key, Observed
from reconciler.objects.stored import with_condition
from reconciler.objects.wanted import ObjectReference, WantedWrite
from scheduling.objects.times import SECOND
from scheduling.yunikorn.gated_pod import GatedPod
from scheduling.yunikorn.gatekeeper import Gatekeeper
from scheduling.yunikorn.queues_in_force import QueuesInForce

UNREADABLE = "quotree.dev/QuotaUnreadable"
"""The condition of a Namespace whose quota cannot be read."""
PERIOD = 10 * SECOND
"""How often, in nanoseconds, all that wait are asked anew why."""
_MAPS = {QUEUE_DEFAULTS.kind: DEFAULTS, QUEUE_CONFIGS.kind: CONFIGS}
_ALL: Key = ("GatedPods", "")


class QuotaGatesController(Controller):
    """`records` has Pods and Namespaces as they are stored."""

    watched = WATCHED

    def __init__(self, records: Records, settings: YuniKornSettings) -> None:
        self.keeper = Gatekeeper(QueuesInForce(settings.namespace))
        self._records = records
        self._due: dict[Key, None] = {}
        self._outdated = False
        self._again = 0

    # --- what is observed

    def observe(self, observed: Observed) -> None:
        kind, name = observed.key
        if kind in _MAPS:
            self.keeper.queues.put(_MAPS[kind], observed.value)
        elif kind == NAMESPACE.kind:
            self.keeper.put_namespace(name, observed.value)
            self._due[observed.key] = None
        else:
            self.keeper.put_pod(name, observed.value)
            self._due[observed.key] = None
        self._outdated = True

    def gone(self, key: Key) -> None:
        if key[0] == GATED_POD.kind:
            self.keeper.put_pod(key[1], None)

    def wake(self, item: Key) -> None:
        """A decision whose write has failed is no more than a wish: others may have decided since."""
        if item == _ALL:
            self._due.update(dict.fromkeys((GATED_POD.kind, name) for name in self.keeper.waiting()))
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
        return unnoticed and self.keeper.has_quota(pod.namespace)

    def _namespace(self, observed: Observed, now: int) -> WantedWrite | None:
        """The condition that says that its quota cannot be read, or that it can be read again."""
        name, stored = observed.key[1], observed.detail
        flaw = plain(self.keeper.flaw(name))[:1000] if self.keeper.has_quota(name) else ""
        conditions = stored.status.get("conditions") or ()
        before = next((each for each in conditions if each.get("type") == UNREADABLE), None)
        said = "" if before is None or before.get("status") != "True" else before.get("message", "")
        if said == flaw:
            return None
        reason, message = ("QuotaUnreadable", flaw) if flaw else ("QuotaReadable", "The quota can be read")
        body = {
            "status": {"conditions": with_condition(stored, UNREADABLE, bool(flaw), reason, message, whole_second(now))}
        }
        patch = Patch(NAMESPACES, None, name, body, observed.version, MANAGER, "status")
        about = ObjectReference("v1", "Namespace", "", name, "")
        return WantedWrite(observed.key, patch, about, reason, message, warning=bool(flaw))
