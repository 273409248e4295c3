"""Which workloads to preempt so that another one fits. Leaves the tree unchanged.

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
    """The targets to preempt so that `need` fits into the queue; empty if preemption cannot help.

    `short` are the pairs of `need` that do not fit now. Targets include needed workloads that are already evicted.
    There are no targets for an inactive queue, or in a tree with a cycle.
    """
    if queue.inactive or queue.node.root.on_cycle or not short:
        return []
    search = Search(state, preemptor, queue, need, short, precedence)
    return fair_targets(search) if state.options.fair_sharing else classic_targets(search)


def oracle(state: State, queue: Queue, preemptor: Workload, precedence: Precedence = BY_PRIORITY) -> Simulate:
    """A `Simulate` for the flavor assigner. Kueue calls it the preemption oracle."""

    def ask(pair: FlavorResource, amount: int) -> Grade:
        targets = find_targets(state, preemptor, queue, {pair: amount}, {pair}, precedence)
        with state.without(target.reservation for target in targets):
            level, _ = queue.node.borrowing_level(pair, amount)
        if not targets:
            return Grade(Mode.NO_CANDIDATES, level)
        own = any(target.reservation.queue is queue for target in targets)
        return Grade(Mode.PREEMPT if own else Mode.RECLAIM, level)

    return ask
