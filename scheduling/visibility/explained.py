"""A workload as JSON: why it waits, or its quota. The same for a cluster, for files and in the reconciler's API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scheduling.cycle.cycle import try_alone
from scheduling.flavors.messages import amount_text
from scheduling.visibility.as_json import AccessScope, JobReference, running_json, waiting_json
from scheduling.visibility.causes import cause_at_cluster_queue, cause_at_local_queue
from scheduling.visibility.explanation import FlavorLack, Obstacle
from scheduling.visibility.raising import BORROWING_LIMIT
from scheduling.visibility.sentence import missing_queue, sentence, waits_for_checks
from scheduling.visibility.workloads import WaitingWorkload, holding, waits
from scheduling.world.world import World

_AHEAD = 10
"""How many of the workloads ahead are named at most. The others are only counted."""


def explained(
    world: World,
    key: str,
    now: int,
    named: JobReference,
    moment: Callable[[int], Any],
    scope: AccessScope | None = None,
    *,
    words: Callable[[int], str] | None = None,
) -> dict[str, Any]:
    """The workload `namespace/name` as JSON: `state` is waiting, running, finished or beingAdmitted. Raises KeyError.

    named: describes the jobs of workloads.
    moment: formats a time for the reader. words: formats a time within a sentence, if that is different.
    scope: the objects that the caller may read; None for all.
    """
    workload, scope = world.workloads[key], scope or AccessScope()
    found = waits(world, key, now, consider=try_alone)
    if found is not None:
        text = sentence(world, found, words or moment).text
        content = waiting_json(found, text, named, moment, scope)
        cause = brief(world, found, words or moment)
        return {"state": "waiting", "cause": cause, **content, **_ahead(world, found, named, scope)}
    if workload.finished:
        return {"state": "finished", "job": dict(named(key))}
    if workload.counts:
        said = waits_for_checks(world, workload)
        content = running_json(holding(world, workload), named)
        return {"state": "running", **content, **({"sentence": said.text} if said and not workload.admitted else {})}
    return {"state": "beingAdmitted", "job": dict(named(key))}


def _ahead(world: World, found: WaitingWorkload, named: JobReference, scope: AccessScope) -> dict[str, Any]:
    """The workloads ahead in the ClusterQueue: the nearest ones that the caller may read, and the number of all others.

    Empty for the head, and for a workload that is in no ClusterQueue.
    """
    why = found.explanation
    before = (why.position or 1) - 1 if why is not None and why.queue else 0
    if why is None or not before:
        return {}
    last = min(before, _AHEAD)
    near = world.queues.pending[why.queue].positions().names(before - last, last)
    readable = [name for name in near if scope.of(name)]
    return {"ahead": {"workloads": [dict(named(name)) for name in readable], "others": before - len(readable)}}


def brief(world: World, found: WaitingWorkload, moment: Callable[[int], object]) -> str:
    """The cause why a workload waits in a few words, for rows of lists. `moment` formats a time for the reader.

    It names only the workload's own queue and the Cohorts above it, which a caller who may read the workload may read.
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
