"""Who must give way so that a workload fits, and whether anybody could. The tree is as it was afterwards.

Source: Kueue v0.19, pkg/scheduler/preemption (preemption.go, preemption_oracle.go).
"""

from __future__ import annotations

from collections.abc import Set

from scheduling.flavors.modes import Grade, Mode, Simulate
from scheduling.objects.amounts import FlavorResource, Usage
from scheduling.objects.workload import Workload
from scheduling.preemption.candidates import Precedence
from scheduling.preemption.classic_preemption import classic_targets
from scheduling.preemption.fair_preemption import fair_targets
from scheduling.preemption.search import Search
from scheduling.preemption.targets import Target
from scheduling.quota.state import Queue, State

BY_PRIORITY = Precedence()


def find_targets(
    state: State,
    preemptor: Workload,
    queue: Queue,
    need: Usage,
    short: Set[FlavorResource],
    precedence: Precedence = BY_PRIORITY,
) -> list[Target]:
    """The fewest workloads of those in turn that must leave before `need` fits into the queue; [] where it cannot be.

    `short` are the pairs of `need` for which somebody has to leave. What leaves already is named among the targets too.
    In a broken tree, and from a queue that admits nothing, nobody is preempted.
    """
    if queue.inactive or queue.node.root.on_cycle or not short:
        return []
    search = Search(state, preemptor, queue, need, short, precedence)
    return fair_targets(search) if state.options.fair_sharing else classic_targets(search)


def oracle(state: State, queue: Queue, preemptor: Workload, precedence: Precedence = BY_PRIORITY) -> Simulate:
    """For the choice of flavors: what it takes to use so much more of one pair, and the borrowing level then."""

    def ask(pair: FlavorResource, amount: int) -> Grade:
        targets = find_targets(state, preemptor, queue, {pair: amount}, {pair}, precedence)
        with state.without(target.reservation for target in targets):
            level, _ = queue.node.borrowing_level(pair, amount)
        if not targets:
            return Grade(Mode.NO_CANDIDATES, level)
        own = any(target.reservation.queue is queue for target in targets)
        return Grade(Mode.PREEMPT if own else Mode.RECLAIM, level)

    return ask
