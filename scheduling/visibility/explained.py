"""A workload as JSON: why it waits, or its quota. The same for a cluster, for files and in the reconciler's API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scheduling.cycle.cycle import try_alone
from scheduling.visibility.as_json import AccessScope, JobReference, running_json, waiting_json
from scheduling.visibility.brief import brief
from scheduling.visibility.sentence import sentence, waits_for_checks
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
