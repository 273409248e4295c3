"""Lets Pods pass the gate when Volcano's queues have room, in Volcano's order, and reports why other Pods wait."""

from __future__ import annotations

from collections.abc import Iterator

from policies.configuration.settings import QuotaReclaim, VolcanoSettings
from policies.dialects.volcano_gates import TOGETHER
from reconciler.controllers.gates.controller import GatesController
from reconciler.controllers.gates.pod_writes import cut_off, passes, places, reclaimed, waits
from reconciler.controllers.volcano.gate_kinds import GATED_CLASS, GATED_GROUP, GATED_POD, GATED_QUEUE, WATCHED
from reconciler.core.controller import WakeAt, Wanted
from reconciler.core.records import Records
from reconciler.objects.observed import Key, Observed
from reconciler.objects.wanted import WantedWrite, refer
from scheduling.queue_tree.amounts import Shortage
from scheduling.volcano.gates.gate_queues import PodWait
from scheduling.volcano.gates.gated_pod import VolcanoGatedPod
from scheduling.volcano.gates.gatekeeper import VolcanoGatekeeper
from scheduling.volcano.resources import amount_text

_RECLAIM: Key = ("QuotaReclaim", "")
_SETTINGS = VolcanoSettings()
_GROUP_VERSION = f"{GATED_GROUP.resource.group}/{GATED_GROUP.resource.version}"


class GroupNews:
    """Events on PodGroups. Each of their Pods has its own Event as well.

    Records an Event when a group's reason for waiting changes (without amounts), and when its Pods first pass.

    `records`: the stored PodGroups.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        self._waits: dict[str, list[str]] = {}
        self._passed: set[str] = set()
        self._news: list[WantedWrite] = []

    def waits(self, group: str, reason: str, text: str, *, warning: bool) -> None:
        if self._waits.get(group) != places(text) and self._record(group, reason, text, warning=warning):
            self._waits[group] = places(text)

    def passes(self, group: str, queue: str, pods: int) -> None:
        """This number of the group's Pods pass together."""
        message = f"{pods} Pod{'s' * (pods != 1)} admitted in {queue}"
        if group not in self._passed and self._record(group, "QuotaAdmitted", message):
            self._passed.add(group)

    def gone(self, group: str) -> None:
        self._passed.discard(group)
        self._waits.pop(group, None)

    def take(self) -> list[WantedWrite]:
        """The Events since the last call."""
        found, self._news = self._news, []
        return found

    def _record(self, group: str, reason: str, text: str, *, warning: bool = False) -> bool:
        """Returns False if the PodGroup is gone, so that nothing is remembered about it."""
        observed = self._records.get(GATED_GROUP, group)
        if observed is None:
            return False
        about = refer(_GROUP_VERSION, "PodGroup", group, observed.value.uid, version=observed.version)
        self._news.append(WantedWrite(observed.key, None, about, reason, text, warning=warning))
        return True


class VolcanoGatesController(GatesController[VolcanoGatekeeper]):
    """Lets Pods pass.

    `records`: the stored objects.
    `others`: the other projects with gates. A Pod whose label names one of them is not managed here.
    `settings`: what is checked, and how Pods are reclaimed for queues that have less than they deserve.
    """

    watched = WATCHED

    def __init__(
        self, records: Records, others: frozenset[str] = frozenset(), settings: VolcanoSettings = _SETTINGS
    ) -> None:
        reclaims = settings.reclaim is not QuotaReclaim.OFF
        keeper = VolcanoGatekeeper(
            others, checks_sums=settings.checks_sums, reclaims=reclaims, root_from_nodes=settings.root_from_nodes
        )
        super().__init__(records, keeper, GATED_POD)
        self._evicts = settings.reclaim is QuotaReclaim.EVICT
        self._groups = GroupNews(records)

    def observe(self, observed: Observed[object]) -> None:
        self.outdated = True
        kind, name = observed.key
        if kind == GATED_POD.kind:
            self.keeper.put_pod(name, GATED_POD.value(observed))
            self.look_at([observed.key])
        elif kind == GATED_GROUP.kind:
            self.keeper.put_group(name, GATED_GROUP.value(observed))
            if observed.value is None:
                self._groups.gone(name)
        elif kind == GATED_QUEUE.kind:
            self.keeper.put_queue(name, GATED_QUEUE.value(observed))
        elif kind == GATED_CLASS.kind:
            self.keeper.put_class(name, GATED_CLASS.value(observed))

    def decide(self, now: int) -> list[str]:
        passing = self.keeper.decide(now)
        if (reclaim := self.keeper.reclaim) is not None:
            self.look_at((GATED_POD.kind, name) for name in reclaim.victims)
        return passing

    def wake(self, item: Key) -> None:
        if item != _RECLAIM:
            super().wake(item)

    def more(self, now: int) -> Iterator[Wanted]:
        yield from self._groups.take()
        if self.keeper.reclaim is not None and (moment := self.keeper.reclaim.next(now)) is not None:
            yield WakeAt(_RECLAIM, moment)

    def write(self, key: Key, now: int) -> WantedWrite | None:
        del now
        observed = self.records.get(GATED_POD, key[1])
        if observed is None:
            return None
        pod = observed.value
        if pod.gated and not pod.deleting:
            return self._passes(observed, pod)
        if pod.slipped:
            return cut_off(observed)
        batch = self.keeper.reclaim.victims.get(pod.key) if self.keeper.reclaim is not None else None
        if batch is None or pod.deleting or pod.ended:
            return None
        return reclaimed(observed, batch.queue, evicts=self._evicts)

    def _passes(self, observed: Observed[VolcanoGatedPod], pod: VolcanoGatedPod) -> WantedWrite | None:
        grant = self.keeper.granted.get(pod.key)
        if grant is None:
            return None
        self._groups.passes(pod.group, grant.queue, grant.together.pods)
        return passes(observed, grant.queue, {TOGETHER: str(grant.together)})

    def explain(self, key: Key) -> WantedWrite | None:
        pod, waiting = self.records.get(GATED_POD, key[1]), self.keeper.why(key[1])
        if pod is None or waiting is None or pod.value.deleting or not pod.value.gated:
            return None
        said, warning = reason_text(waiting), not waiting.lacks
        self._groups.waits(pod.value.group, waiting.reason, said, warning=warning)
        return waits(pod, waiting.reason, said, amounts=bool(waiting.lacks), warning=warning)


def reason_text(waiting: PodWait) -> str:
    where = f" in {waiting.queue}" if waiting.queue else ""
    texts = [text for text in (waiting.message, *map(_lack, waiting.lacks)) if text]
    return f"{waiting.reason}{where}: {'; '.join(texts)}"


def _lack(lack: Shortage) -> str:
    short, asked, used, limit = (
        amount_text(lack.resource, amount) for amount in (lack.short, lack.requested, lack.used, lack.limit)
    )
    return f"{lack.queue} lacks {lack.resource}={short}, asked {asked}, {used} of {limit} in use"
