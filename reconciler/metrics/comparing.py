"""The comparisons of `--mode observe`: decisions of other controllers and schedulers with ours, logged and counted."""

from __future__ import annotations

import logging
from typing import Any

from prometheus_client import CollectorRegistry

from policies.configuration.settings import Dialect, YuniKornSettings
from reconciler.controllers.gates.comparison import Judge, PodComparison
from reconciler.controllers.volcano.comparison import QueueComparison
from reconciler.controllers.volcano.pod_comparison import VolcanoJudge
from reconciler.controllers.yunikorn.comparison import YuniKornJudge
from reconciler.core.state import ClusterState
from reconciler.metrics.instruments import Instruments
from reconciler.metrics.occasions import Compared, PodCompared, QueueStateCompared
from reconciler.observer.comparison import Comparison
from reconciler.observer.differences import ComparisonResult, DecisionDifference
from reconciler.observer.observer import Observers

log = logging.getLogger(__name__)


def comparisons(registry: CollectorRegistry, state: ClusterState, settings: YuniKornSettings) -> Observers:
    """All comparisons."""
    return Observers(
        _comparing(registry, state), _comparing_queues(registry), _comparing_pods(registry, state, settings)
    )


def _comparing_queues(registry: CollectorRegistry) -> QueueComparison:
    """Compare the states of Volcano's queues. Results are counted, and differences are logged."""
    instruments = Instruments(registry, QueueStateCompared)

    def report(queue: str, theirs: str, ours: str) -> None:
        instruments.count(QueueStateCompared(theirs, ours))
        if theirs != ours:
            log.warning(
                "queue %s: Volcano's controller wrote the state %s, ours would have written %s", queue, theirs, ours
            )

    return QueueComparison(report)


def _comparing(registry: CollectorRegistry, state: ClusterState) -> Comparison:
    """Compare the decisions of another controller with ours. Results are counted, and differences are logged."""
    instruments = Instruments(registry, Compared)

    def report(result: ComparisonResult, difference: DecisionDifference | None) -> None:
        instruments.count(Compared(result, difference))
        _log(difference)

    return Comparison(state.world, report, lambda: state.complete)


def _comparing_pods(registry: CollectorRegistry, state: ClusterState, settings: YuniKornSettings) -> Observers:
    """Compare what other schedulers bind with the quota. Results are counted, and differences are logged."""
    instruments = Instruments(registry, PodCompared)

    def comparison(dialect: Dialect, judge: Judge[Any]) -> PodComparison:
        def report(result: ComparisonResult, difference: DecisionDifference | None) -> None:
            instruments.count(PodCompared(dialect, result, difference))
            _log(difference)

        return PodComparison(judge, report, lambda: state.complete)

    return Observers(comparison(Dialect.YUNIKORN, YuniKornJudge(settings)), comparison(Dialect.VOLCANO, VolcanoJudge()))


def _log(difference: DecisionDifference | None) -> None:
    if difference is not None:
        log.warning("decided otherwise: %s", difference.kind, extra={"fields": difference._asdict()})
