"""The observers that count: rounds, changes of Workloads, and the decisions of another controller.

A replica that does not write counts no changes, so each change is counted once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry

from policies.configuration.settings import Dialect, YuniKornSettings
from reconciler.core.records import WORKLOAD
from reconciler.core.state import ClusterState
from reconciler.metrics.chosen_queues import ChosenQueues
from reconciler.metrics.collector import Scraped
from reconciler.metrics.custom_labels import CustomLabels
from reconciler.metrics.handovers import Handovers
from reconciler.metrics.instruments import Instruments
from reconciler.metrics.kueue import FOLLOWER, LEADER
from reconciler.metrics.occasions import (
    Compared,
    CycleDecided,
    GateRemoved,
    PodCompared,
    QueueStateCompared,
    RoundPassed,
    WorkloadChange,
    WorkloadCreated,
)
from reconciler.metrics.standing import StandingWork
from reconciler.objects.observed import Observed
from reconciler.objects.watched import WORKLOAD_VIEW
from reconciler.observer.comparison import PATIENCE, Comparison, ComparisonResult, DecisionDifference
from reconciler.observer.observer import Observer, Observers
from scheduling.quota.touched import CLUSTER_QUEUE, COHORT
from scheduling.world.decisions import Decision

if TYPE_CHECKING:
    from reconciler.controllers.gates.comparison import Judge, PodComparison
    from reconciler.controllers.volcano.comparison import QueueComparison

log = logging.getLogger(__name__)
_YUNIKORN = YuniKornSettings()


class MetricsObserver:
    """Times each round, and passes what happens to the metrics.

    `kueue`: keep the metrics of Kueue's manager; otherwise compare the decisions of another controller with ours.
    `leads`: whether this process writes.
    `labels`, `queues`: updated for the registry.
    `gates`: keep Pods at gates, and count those that pass.
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
        inner: Observer = (
            KueueObserver(state, leads, registry, labels, queues)
            if kueue
            else Observers(
                comparing(registry, state),
                comparing_queues(registry),
                comparing_pods(registry, state, yunikorn.namespace),
            )
        )
        self._rounds = Instruments(registry, RoundPassed)
        if gates:
            from reconciler.metrics.passing import PassingObserver  # here, since it takes long to load

            inner = Observers(inner, PassingObserver(leads, registry))
        self._inner = inner
        self.changing, self.changed, self.decided = inner.changing, inner.changed, inner.decided

    def passed(self, now: int, seconds: float) -> None:
        self._rounds.count(RoundPassed(seconds))
        self._inner.passed(now, seconds)


class KueueObserver:
    """Counts changes of Workloads by what is stored of them. Source: Kueue v0.19, the callers of pkg/metrics."""

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
        self._standing = StandingWork(state.world)
        self._handovers = Handovers(state)
        self._counted: set[str] = set()
        """The Cohorts that have counters. An implicit Cohort goes without a deletion of its own."""
        self._reshaped = False
        self._instruments = Instruments(
            registry, WorkloadChange, WorkloadCreated, GateRemoved, CycleDecided, custom=self._labels
        )
        registry.register(Scraped(StandingWork, lambda read: read(self._standing), role=self._role))

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
        """Remove the series of Cohorts that nothing names any more; `changing` has counted the change."""
        if not self._reshaped:
            return
        self._reshaped = False
        for name in self._counted - self._state.world.state.tree.cohorts.keys():
            self._counted.discard(name)
            self._instruments.forget(COHORT, name)

    def decided(self, decisions: Sequence[Decision], seconds: float) -> None:
        self._instruments.count(CycleDecided(decisions, seconds))
        self._standing.decided(decisions)

    def passed(self, now: int, seconds: float) -> None:
        """Nothing to do: time alone changes no count."""

    def _occasions(self, before: Observed[object] | None, after: Observed[object], now: int) -> Iterator[object]:
        """The occasions of a change. Objects of the first lists were not created just now, so they are not new."""
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


def comparing_queues(registry: CollectorRegistry) -> QueueComparison:
    """Compare the states of Volcano's queues; each difference is logged and counted."""
    from reconciler.controllers.volcano.comparison import QueueComparison  # here, since only `observe` compares

    instruments = Instruments(registry, QueueStateCompared)

    def report(queue: str, theirs: str, ours: str) -> None:
        instruments.count(QueueStateCompared(theirs, ours))
        if theirs != ours:
            log.warning("queue %s is %s by Volcano's controller, and would be %s by ours", queue, theirs, ours)

    return QueueComparison(report)


def comparing(registry: CollectorRegistry, state: ClusterState, patience: int = PATIENCE) -> Comparison:
    """Compare the decisions of another controller with ours; each difference is logged and counted."""
    instruments = Instruments(registry, Compared)

    def report(result: ComparisonResult, difference: DecisionDifference | None) -> None:
        instruments.count(Compared(result, difference))
        _log(difference)

    return Comparison(state.world, report, lambda: state.complete, patience)


def comparing_pods(registry: CollectorRegistry, state: ClusterState, namespace: str) -> Observers:
    """Compare what other schedulers bind with the quota of their queues; each difference is logged and counted.

    `namespace`: the namespace of YuniKorn's ConfigMaps.
    """
    from reconciler.controllers.gates.comparison import PodComparison  # here, since only `observe` compares
    from reconciler.controllers.volcano.pod_comparison import VolcanoJudge
    from reconciler.controllers.yunikorn.comparison import YuniKornJudge

    instruments = Instruments(registry, PodCompared)

    def comparison(dialect: Dialect, judge: Judge[Any]) -> PodComparison:
        def report(result: ComparisonResult, difference: DecisionDifference | None) -> None:
            instruments.count(PodCompared(dialect, result, difference))
            _log(difference)

        return PodComparison(judge, report, lambda: state.complete)

    return Observers(
        comparison(Dialect.YUNIKORN, YuniKornJudge(namespace)), comparison(Dialect.VOLCANO, VolcanoJudge())
    )


def _log(difference: DecisionDifference | None) -> None:
    if difference is not None:
        log.warning("decided otherwise: %s", difference.kind, extra={"fields": difference._asdict()})
