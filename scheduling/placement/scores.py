"""The order in which the incremental dispatcher tries workers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from scheduling.placement.group import WorkerCluster
from scheduling.placement.settings import AS_LISTED, PACK, WEIGHTED, PlacementRules


def ranked(rules: PlacementRules, workers: Sequence[WorkerCluster]) -> list[WorkerCluster]:
    """The best first. Ties keep their order, and a worker with unknown free quota counts as full."""
    if rules.score == AS_LISTED:
        return list(workers)
    return sorted(workers, key=lambda worker: _rank(rules, worker))


def _rank(rules: PlacementRules, worker: WorkerCluster) -> tuple[bool, Fraction]:
    """Workers without free quota come last for every score."""
    free = worker.free if worker.free is not None else Fraction(0)
    if rules.score == PACK:
        return free <= 0, free
    weight = rules.weights.get(worker.name, 1) if rules.score == WEIGHTED else 1
    return free <= 0, -free * weight
