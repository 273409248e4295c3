"""Grades whether an amount of a pair fits into a ClusterQueue, or whether a preemption would make it fit.

Source: Kueue v0.19, pkg/scheduler/flavorassigner; Cohort trees by KEP-79.
"""

from __future__ import annotations

from policies.dialects.kueue_state import NEVER
from scheduling.flavors.modes import Grade, Mode, Simulate
from scheduling.flavors.reasons import BeyondMaximum, Reason, Short
from scheduling.objects.amounts import FlavorResource, plus
from scheduling.quota.state import ClusterQueueState


def graded(
    queue: ClusterQueueState, pair: FlavorResource, earlier: int, asked: int, simulate: Simulate, fair_sharing: bool
) -> tuple[Grade, Reason | None]:
    """The grade of `asked` beyond the usage of `earlier` pod sets, and the reason if it does not fit at once."""
    node, wanted = queue.node, plus(earlier, asked)
    free = node.free(pair)
    if wanted <= free:
        return Grade(Mode.FIT, node.borrowing_level(pair, wanted)[0]), None
    maximum = node.potential(pair)
    if wanted > maximum:
        return Grade(Mode.NO_FIT, 0), BeyondMaximum(pair, earlier, asked, maximum)
    level, may_reclaim = node.borrowing_level(pair, wanted)
    short = Short(pair, wanted, free)
    if wanted <= node.nominal(pair) or may_reclaim or _preempts_while_borrowing(queue, fair_sharing):
        return Grade(*simulate(pair, wanted)), short
    return Grade(Mode.NO_FIT, level), short


def _preempts_while_borrowing(queue: ClusterQueueState, fair_sharing: bool) -> bool:
    policy = queue.settings.preemption
    return policy.borrow_within_cohort != NEVER or (fair_sharing and policy.reclaim_within_cohort != NEVER)
