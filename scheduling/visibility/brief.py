"""Why a workload waits in a few words, for the rows of lists: only the cause.

It names only the workload's own queue and the Cohorts above it, which a caller who may read the workload may read.
"""

from __future__ import annotations

from collections.abc import Callable

from scheduling.flavors.messages import amount_text
from scheduling.visibility.causes import cause_at_cluster_queue, cause_at_local_queue
from scheduling.visibility.explanation import FlavorLack, Obstacle
from scheduling.visibility.raising import BORROWING_LIMIT
from scheduling.visibility.sentence import missing_queue
from scheduling.visibility.workloads import WaitingWorkload
from scheduling.world.world import World


def brief(world: World, found: WaitingWorkload, moment: Callable[[int], object]) -> str:
    """The cause, without a capital letter and a full stop. `moment` formats a time for the reader.

    It costs the depth of the tree, and for a topology a pass over its domains.
    """
    workload, why = world.workloads[found.workload], found.explanation
    if why is None:
        return "it is deactivated"
    if missing := missing_queue(world, workload):
        return missing
    if not why.queue:
        return cause_at_local_queue(world, workload, why).clauses[0]
    held_up = found.not_before or found.behind or why.victims
    for lack in () if held_up else why.lacks:
        if lack.obstacle is not None:
            return _shortage(lack, lack.obstacle)
    return cause_at_cluster_queue(world, workload, found, why, moment).clauses[0]


def _shortage(lack: FlavorLack, at: Obstacle) -> str:
    pair, ever = f"{lack.pair.flavor}/{lack.pair.resource}", "" if lack.ever else ", even if nothing else ran"
    lacking = amount_text(lack.pair.resource, at.lacking)
    if at.limit == BORROWING_LIMIT:
        return f"it needs {lacking} more {pair} than {at.node} may borrow by its borrowingLimit{ever}"
    return f"{lacking} of {pair} {'is' if lacking == '1' else 'are'} short at {at.node}{ever}"
