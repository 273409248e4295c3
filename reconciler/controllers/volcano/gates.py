"""Lets Pods pass the gate as Volcano's queues have room, in Volcano's order, and reports why others wait."""

from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.volcano_gates import TOGETHER
from reconciler.controllers.gates.controller import GatesController
from reconciler.controllers.gates.pod_writes import cut_off, passes, waits
from reconciler.controllers.volcano.gate_kinds import GATED_CLASS, GATED_GROUP, GATED_POD, GATED_QUEUE, WATCHED
from reconciler.controllers.volcano.group_news import GroupNews
from reconciler.core.controller import Wanted
from reconciler.core.records import Records
from reconciler.objects.observed import Key, Observed
from reconciler.objects.wanted import WantedWrite
from scheduling.queue_tree.shortage import Shortage
from scheduling.volcano.gates.gate_queues import PodWait
from scheduling.volcano.gates.gated_pod import VolcanoGatedPod
from scheduling.volcano.gates.gatekeeper import VolcanoGatekeeper
from scheduling.volcano.resources import written


class VolcanoGatesController(GatesController[VolcanoGatekeeper]):
    """`records` has the stored Pods. Pods with the mark of another dialect in `others` belong to its gate.

    `checks_sums`: no Pod passes while the children of a queue are promised more than it has.
    """

    watched = WATCHED

    def __init__(self, records: Records, others: frozenset[str] = frozenset(), *, checks_sums: bool = False) -> None:
        super().__init__(records, VolcanoGatekeeper(others, checks_sums=checks_sums), GATED_POD)
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
        del now
        return self.keeper.decide()

    def more(self, now: int) -> Iterator[Wanted]:
        del now
        yield from self._groups.take()

    def write(self, key: Key, now: int) -> WantedWrite | None:
        del now
        observed = self.records.get(GATED_POD, key[1])
        if observed is None:
            return None
        pod = observed.value
        if pod.gated and not pod.deleting:
            return self._at_gate(observed, pod)
        return cut_off(observed) if pod.slipped else None

    def _at_gate(self, observed: Observed[VolcanoGatedPod], pod: VolcanoGatedPod) -> WantedWrite | None:
        grant, waiting = self.keeper.granted.get(pod.key), self.keeper.why(pod.key)
        if grant is not None:
            self._groups.passes(pod.group, grant.queue, grant.together.pods)
            return passes(observed, grant.queue, {TOGETHER: str(grant.together)})
        if waiting is None:
            return None
        said, warning = reason_text(waiting), not waiting.lacks
        self._groups.waits(pod.group, waiting.reason, said, warning=warning)
        return waits(observed, waiting.reason, said, amounts=bool(waiting.lacks), warning=warning)


def reason_text(waiting: PodWait) -> str:
    where = f" in {waiting.queue}" if waiting.queue else ""
    parts = [part for part in (waiting.message, *map(_lack, waiting.lacks)) if part]
    return f"{waiting.reason}{where}: {'; '.join(parts)}"


def _lack(lack: Shortage) -> str:
    short, asked, used, limit = (
        written(lack.resource, amount) for amount in (lack.short, lack.requested, lack.used, lack.limit)
    )
    return f"{lack.queue} lacks {lack.resource}={short}, asked {asked}, {used} of {limit} in use"
