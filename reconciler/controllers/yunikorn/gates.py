"""Lets Pods pass the gate as YuniKorn's quota allows, in YuniKorn's order, and reports the usage of Namespaces."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

from policies.configuration.settings import YuniKornSettings
from policies.dialects import yunikorn
from policies.dialects.core import Namespace
from policies.dialects.yunikorn import VCORE, as_read
from policies.model.objects import parted
from reconciler.controllers.gates.controller import PERIOD, GatesController
from reconciler.controllers.gates.pod_writes import cut_off, passes, preempted, waits
from reconciler.controllers.yunikorn.kinds import CLASS, GATED_POD, MAPS, NAMESPACE, WATCHED
from reconciler.controllers.yunikorn.namespace_writes import conditions
from reconciler.core.controller import WakeAt
from reconciler.core.records import Records
from reconciler.objects.observed import Key, Observed
from reconciler.objects.wanted import WantedWrite
from scheduling.yunikorn.gates.gated_pod import YuniKornGatedPod
from scheduling.yunikorn.gates.gatekeeper import YuniKornGatekeeper
from scheduling.yunikorn.gates.queues_in_force import QueuesInForce
from scheduling.yunikorn.queue import QueueLack
from scheduling.yunikorn.waiting import WaitingAllocation

_IN_USE: Key = ("QuotaInUse", "")
_PREEMPTION: Key = ("QuotaPreemption", "")
_PLACES: Key = ("QuotaPlaces", "")
log = logging.getLogger(__name__)


class QuotaGatesController(GatesController[YuniKornGatekeeper]):
    """Lets Pods pass, and writes conditions of Namespaces.

    `records`: the stored objects.
    `others`: the other projects with gates. A Pod whose label names one of them is not managed here.
    """

    watched = WATCHED

    def __init__(self, records: Records, settings: YuniKornSettings, others: frozenset[str] = frozenset()) -> None:
        keeper = YuniKornGatekeeper(QueuesInForce(settings.namespace), others, preempts=settings.preempts)
        super().__init__(records, keeper, GATED_POD)
        self._version = settings.version
        self._used: dict[str, None] = {}
        self._used_again = 0

    # --- observed changes

    def observe(self, observed: Observed[object]) -> None:
        self.outdated = True
        kind, name = observed.key
        if kind in MAPS:
            view, map_name = MAPS[kind]
            self.keeper.queues.put(map_name, view.value(observed))
            return
        if kind == CLASS.kind:
            self.keeper.put_class(name, CLASS.value(observed))
            return
        self.look_at([observed.key])
        if kind == NAMESPACE.kind:
            namespace = NAMESPACE.value(observed)
            namespace = as_read(namespace, self._version) if namespace is not None else None
            warn_of_legacy(self.keeper.spaces.annotations(name), namespace)
            if self.keeper.put_namespace(name, namespace):
                self.look_at((GATED_POD.kind, each) for each in self.keeper.slipped_in(name))
        else:
            self.keeper.put_pod(name, GATED_POD.value(observed))
            self._used[parted(name)[0]] = None

    def wake(self, item: Key) -> None:
        if item not in (_IN_USE, _PREEMPTION, _PLACES):
            super().wake(item)

    # --- writes

    def decide(self, now: int) -> list[str]:
        passing = self.keeper.decide(now)
        if (evictions := self.keeper.evictions) is not None:
            self.look_at((GATED_POD.kind, name) for name in evictions.leaves)
        return passing

    def write(self, key: Key, now: int) -> WantedWrite | None:
        kind, name = key
        if kind == NAMESPACE.kind:
            namespace = self.records.get(NAMESPACE, name)
            return self._namespace(namespace, now) if namespace is not None else None
        pod = self.records.get(GATED_POD, name)
        return self._pod(pod) if pod is not None else None

    def more(self, now: int) -> Iterator[WakeAt]:
        yield from self._count(now)
        if (moment := self.keeper.next_preemption(now)) is not None:
            yield WakeAt(_PREEMPTION, moment)
        if (moment := self.keeper.timeouts.next) is not None:
            yield WakeAt(_PLACES, moment)

    def _count(self, now: int) -> Iterator[WakeAt]:
        """Write the usage of Namespaces whose Pods have changed: the first time at once, then at intervals."""
        if not self._used:
            return
        if now < self._used_again:
            yield WakeAt(_IN_USE, self._used_again)
            return
        self._used_again = now + PERIOD
        self.look_at((NAMESPACE.kind, name) for name in self._used)
        self._used = {}

    def _pod(self, observed: Observed[YuniKornGatedPod]) -> WantedWrite | None:
        pod = observed.value
        if pod.gated and not pod.deleting:
            queue = self.keeper.granted.get(pod.key)
            return passes(observed, queue) if queue else None
        if pod.slipped and self.keeper.spaces.has_quota(pod.namespace):
            return cut_off(observed)
        queue = self.keeper.evictions.leaves.get(pod.key) if self.keeper.evictions is not None else None
        return preempted(observed, queue) if queue and not pod.deleting and not pod.ended else None

    def explain(self, key: Key) -> WantedWrite | None:
        pod, waiting = self.records.get(GATED_POD, key[1]), self.keeper.why(key[1])
        if pod is None or waiting is None or pod.value.deleting or not pod.value.gated:
            return None
        text, amounts = reason_text(waiting), bool(waiting.lacks)
        return waits(pod, waiting.reason, text, amounts=amounts, warning=not waiting.queue)

    def _namespace(self, observed: Observed[Namespace], now: int) -> WantedWrite | None:
        """The conditions of a Namespace: whether its quota is valid, and how much of it is used."""
        name = observed.key[1]
        flaw = self.keeper.spaces.flaw(name) if self.keeper.spaces.has_quota(name) else ""
        return conditions(observed, flaw, self.keeper.usage(name), now)


def reason_text(waiting: WaitingAllocation) -> str:
    """The reason for waiting that is written on a Pod."""
    where = f" in {waiting.queue}" if waiting.queue else ""
    texts = [text for text in (waiting.message, *map(_lack, waiting.lacks)) if text]
    return f"{waiting.reason}{where}: {'; '.join(texts)}"


def _lack(lack: QueueLack) -> str:
    whose = f" for {lack.whose}" if lack.whose else ""
    name = "cpu" if lack.resource == VCORE else lack.resource
    asked, used, limit, short = (
        _amount(lack.resource, amount) for amount in (lack.requested, lack.used, lack.limit, lack.short)
    )
    return f"{lack.queue}{whose} lacks {name}={short}, asked {asked}, {used} of {limit} in use"


def _amount(resource: str, amount: int) -> str:
    if resource != VCORE:
        return str(amount)
    return f"{amount // 1000}" if amount % 1000 == 0 else f"{amount}m"


def warn_of_legacy(before: Mapping[str, str] | None, namespace: Namespace | None) -> None:
    """Warn in the log about a quota in deprecated annotations, as YuniKorn does, once per change.

    `before`: the annotations as last observed; None for a new Namespace.
    """
    if namespace is None or yunikorn.enabled(namespace) is False:
        return
    present = [key for key in yunikorn.LEGACY if namespace.annotations.get(key)]
    if not present or (before is not None and _set(before) == _set(namespace.annotations)):
        return
    keys = " and ".join(map(yunikorn.short, present))
    if namespace.annotations.get(yunikorn.QUOTA):
        log.warning("Namespace %s: deprecated %s has no effect beside namespace.quota", namespace.ref.name, keys)
        return
    log.warning(
        "Namespace %s: its quota is in deprecated %s, which YuniKorn 2.0 will not read; write namespace.quota",
        namespace.ref.name,
        keys,
    )


def _set(annotations: Mapping[str, str]) -> set[str]:
    return {key for key in (*yunikorn.LEGACY, yunikorn.QUOTA) if annotations.get(key)}
