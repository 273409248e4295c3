"""The observers for metrics: they count rounds, changes of Workloads, and Pods that pass gates.

A replica that does not write counts no changes, so each change is counted once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from prometheus_client import CollectorRegistry

from policies.configuration.settings import YuniKornSettings
from reconciler.core.records import WORKLOAD
from reconciler.core.state import ClusterState
from reconciler.metrics.chosen_queues import ChosenQueues
from reconciler.metrics.collector import Scraped
from reconciler.metrics.custom_labels import CustomLabels
from reconciler.metrics.handovers import Handovers
from reconciler.metrics.instruments import Instruments
from reconciler.metrics.kueue import FOLLOWER, LEADER
from reconciler.metrics.occasions import CycleDecided, GateRemoved, RoundPassed, WorkloadChange, WorkloadCreated
from reconciler.metrics.pending_counts import PendingCounts
from reconciler.objects.observed import Observed
from reconciler.objects.watched import WORKLOAD_VIEW
from reconciler.observer.observer import Observer, Observers
from scheduling.quota.touched import CLUSTER_QUEUE, COHORT
from scheduling.world.decisions import Decision

_YUNIKORN = YuniKornSettings()


class MetricsObserver(Observers):
    """Times each round, and passes calls of the core to the observers that count.

    `leads`: returns whether this process writes.
    `labels`, `queues`: the custom labels and the selected LocalQueues, which this observer updates.
    `kueue`: whether to count for Kueue's metrics; otherwise decisions of another controller are compared with ours.
    `gates`: whether to count Pods that pass gates.
    """

    def __init__(
        self,
        state: ClusterState,
        leads: Callable[[], bool],
        registry: CollectorRegistry,
        labels: CustomLabels | None = None,
        queues: ChosenQueues | None = None,
        *,
        kueue: bool,
        gates: bool = False,
        yunikorn: YuniKornSettings = _YUNIKORN,
    ) -> None:
        inner: list[Observer]
        if kueue:
            inner = [KueueObserver(state, leads, registry, labels, queues)]
        else:
            from reconciler.metrics.comparing import comparisons  # imported here because only `--mode observe` needs it

            inner = [comparisons(registry, state, yunikorn)]
        self._rounds = Instruments(registry, RoundPassed)
        if gates:
            from reconciler.metrics.passing import PassingObserver  # imported here because it takes long

            inner.append(PassingObserver(leads, registry))
        super().__init__(*inner)

    def passed(self, now: int, seconds: float, /) -> None:
        self._rounds.count(RoundPassed(seconds))
        super().passed(now, seconds)


class KueueObserver(Observer):
    """Counts changes of stored Workloads. Source: Kueue v0.19, the callers of pkg/metrics."""

    def __init__(
        self,
        state: ClusterState,
        leads: Callable[[], bool],
        registry: CollectorRegistry,
        labels: CustomLabels | None = None,
        queues: ChosenQueues | None = None,
    ) -> None:
        self._state = state
        self._labels = labels or CustomLabels()
        self._queues = queues or ChosenQueues()
        self._leads = leads
        self._standing = PendingCounts(state.world)
        self._handovers = Handovers(state)
        self._counted: set[str] = set()
        """The Cohorts that have counters. When an implicit Cohort disappears, no object is deleted."""
        self._reshaped = False
        self._instruments = Instruments(
            registry, WorkloadChange, WorkloadCreated, GateRemoved, CycleDecided, custom=self._labels
        )
        registry.register(Scraped(PendingCounts, lambda read: read(self._standing), role=self._role))

    def changing(self, before: Observed[object] | None, after: Observed[object], now: int) -> None:
        kind, name = after.key
        self._labels.put(after)
        self._queues.put(after)
        if kind == WORKLOAD:
            workload = WORKLOAD_VIEW.value(after)
            self._standing.put(name, workload)
            self._handovers.follow(name, workload)
        elif after.value is None:
            self._instruments.forget(kind, name)
        self._reshaped = self._reshaped or kind in (CLUSTER_QUEUE, COHORT)
        if after.value is not None and self._leads() and not self._state.partition.away(kind, name):
            for occasion in self._occasions(before, after, now):
                self._instruments.count(occasion)

    def changed(self, now: int) -> None:  # noqa: ARG002
        """Remove the series of Cohorts that no longer exist. The change itself was counted by `changing`."""
        if not self._reshaped:
            return
        self._reshaped = False
        for name in self._counted - self._state.world.state.tree.cohorts.keys():
            self._counted.discard(name)
            self._instruments.forget(COHORT, name)

    def decided(self, decisions: Sequence[Decision], seconds: float) -> None:
        self._instruments.count(CycleDecided(decisions, seconds))
        self._standing.decided(decisions)

    def _occasions(self, before: Observed[object] | None, after: Observed[object], now: int) -> Iterator[object]:
        """The occasions of a change. Objects of the first lists are not new, so their creation is not counted."""
        was, workload = WORKLOAD_VIEW.value(before), WORKLOAD_VIEW.value(after)
        if workload is None:
            yield from self._handovers.let_go(before, after, now)
        elif was is not None:
            yield WorkloadChange(was, workload, self._cohorts_above, now)
        elif self._state.complete:
            yield from self._handovers.created(workload)

    def _role(self) -> str:
        return LEADER if self._leads() else FOLLOWER

    def _cohorts_above(self, queue: str) -> list[str]:
        node = self._state.world.state.tree.queues.get(queue)
        names = [each.name for each in node.path()[1:]] if node is not None else []
        self._counted.update(names)
        return names
