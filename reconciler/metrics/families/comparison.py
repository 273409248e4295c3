"""With `--mode observe`: the comparison of another controller's decisions with ours."""

from __future__ import annotations

from collections.abc import Iterator

from cluster.metrics import Family, Sample
from policies.configuration.settings import Dialect
from reconciler.metrics.occasions import Compared, PodCompared, QueueStateCompared
from reconciler.metrics.source import source
from reconciler.observer.differences import ComparisonResult, DifferenceKind

DECISIONS = Family(
    "quotree_observe_decisions_total",
    "Decisions of the other controller that were compared with ours.",
    ("result",),
    initial=tuple((result.value,) for result in ComparisonResult),
)
DIFFERENCES = Family(
    "quotree_observe_differences_total",
    "Decisions that differ from ours, or that ours would have made and the other has not.",
    ("kind",),
    initial=tuple((kind.value,) for kind in DifferenceKind),
)
QUEUE_STATES = Family(
    "quotree_observe_queue_states_total",
    "States of Volcano's queues that its controller wrote, and what ours would have been; alike where they agree.",
    ("theirs", "ours"),
)
PODS = Family(
    "quotree_observe_pods_total",
    "Pods that another scheduler bound or left waiting, and PodGroups that it let in, compared with the quota then.",
    ("dialect", "result"),
    initial=tuple(
        (dialect, result)
        for dialect in (Dialect.YUNIKORN, Dialect.VOLCANO)
        for result in (
            ComparisonResult.SAME,
            ComparisonResult.UNSURE,
            DifferenceKind.OVER_ADMITTED,
            DifferenceKind.NOT_ADMITTED,
        )
    ),
)


@source(Compared, DECISIONS, DIFFERENCES)
def comparisons(compared: Compared) -> Iterator[Sample]:
    yield DECISIONS.sample(1, compared.result.value)
    if compared.difference is not None:
        yield DIFFERENCES.sample(1, compared.difference.kind.value)


@source(QueueStateCompared, QUEUE_STATES)
def queue_states(compared: QueueStateCompared) -> Iterator[Sample]:
    yield QUEUE_STATES.sample(1, compared.theirs, compared.ours)


@source(PodCompared, PODS)
def pods(compared: PodCompared) -> Iterator[Sample]:
    yield PODS.sample(1, compared.dialect, compared.difference.kind if compared.difference else compared.result)
