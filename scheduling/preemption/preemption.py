"""Chooses workloads to preempt so that another one fits. The tree is not changed.

Source: Kueue v0.19, pkg/scheduler/preemption (preemption.go, preemption_oracle.go).
"""

from __future__ import annotations

from collections.abc import Callable, Set

from scheduling.flavors.modes import Grade, Mode
from scheduling.objects.amounts import FlavorResource, Usage
from scheduling.objects.workload import Workload
from scheduling.preemption.candidates import CandidatePrecedence
from scheduling.preemption.classic_preemption import classic_targets
from scheduling.preemption.fair_preemption import fair_targets
from scheduling.preemption.search import Search, always
from scheduling.preemption.targets import PreemptionTarget
from scheduling.quota.state import ClusterQueueState, QuotaState

BY_PRIORITY = CandidatePrecedence()


def find_targets(
    state: QuotaState,
    preemptor: Workload,
    queue: ClusterQueueState,
    need: Usage,
    short: Set[FlavorResource],
    precedence: CandidatePrecedence = BY_PRIORITY,
    placeable: Callable[[], bool] = always,
) -> list[PreemptionTarget]:
    """The targets to preempt so that `need` fits into the queue; empty if preemption cannot help.

    Targets include needed workloads that are already evicted. A queue that is inactive, or in a tree with a cycle, has
    no targets.

    need: the requests of the preemptor. short: the pairs of them that do not fit now.
    """
    if queue.inactive or queue.node.root.on_cycle or not short:
        return []
    search = Search(state, preemptor, queue, need, short, precedence, placeable)
    return fair_targets(search) if state.options.fair_sharing else classic_targets(search)


class Preemptor:
    """Searches targets for a workload while nothing else changes. Results are cached.

    For a workload with one pod set and one resource, the search for a flavor and the final search are the same.

    asked: whether any search was requested.
    """

    def __init__(
        self,
        state: QuotaState,
        queue: ClusterQueueState,
        workload: Workload,
        precedence: CandidatePrecedence = BY_PRIORITY,
    ) -> None:
        self.asked = False
        self._state = state
        self._queue = queue
        self._workload = workload
        self._precedence = precedence
        self._found: dict[
            tuple[frozenset[tuple[FlavorResource, int]], frozenset[FlavorResource]], list[PreemptionTarget]
        ] = {}

    def targets(
        self, need: Usage, short: Set[FlavorResource], placeable: Callable[[], bool] = always
    ) -> list[PreemptionTarget]:
        self.asked = True
        if placeable is not always:
            return find_targets(self._state, self._workload, self._queue, need, short, self._precedence, placeable)
        question = frozenset(need.items()), frozenset(short)
        found = self._found.get(question)
        if found is None:
            found = find_targets(self._state, self._workload, self._queue, need, short, self._precedence)
            self._found[question] = found
        return [*found]

    def grade(self, pair: FlavorResource, amount: int) -> Grade:
        """The grade of a preemption for this amount, as the flavor assigner needs it. Kueue: preemption oracle."""
        node, targets = self._queue.node, self.targets({pair: amount}, {pair})
        if not targets:
            return Grade(Mode.NO_CANDIDATES, node.borrowing_level(pair, amount)[0])
        with self._state.without(target.reservation for target in targets):
            level, _ = node.borrowing_level(pair, amount)
        own = any(target.reservation.queue is self._queue for target in targets)
        return Grade(Mode.PREEMPT if own else Mode.RECLAIM, level)
