"""Why one workload waits, or what it holds, as JSON has it: the fields of `quotree why -o json`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reconciler.objects.following import workload_trace
from scheduling.objects.inadmissible_reasons import SUSPENDED
from scheduling.objects.times import written
from scheduling.visibility.as_json import AccessScope, JobReference, job_of, running_json, waiting_json
from scheduling.visibility.sentence import missing_queue, stopped
from scheduling.visibility.workloads import Waiting, holding, waits
from scheduling.world.world import World

API_VERSION = "quotree.dev/v1alpha1"
_AHEAD = 10
"""Of those that stand before a workload, so many are looked at for their names; the others are counted."""


def explanation_json(world: World, key: str, now: int, sight: AccessScope | None = None) -> dict[str, Any]:
    """Of the workload `namespace/name` at a moment in nanoseconds. Raises KeyError where there is none."""
    workload, sight = world.workloads[key], sight or AccessScope()
    trace = workload_trace(workload)
    head = {"apiVersion": API_VERSION, "kind": "Explanation", **({"trace": trace} if trace else {})}

    def named(name: str) -> dict[str, str]:
        known = world.workloads.get(name)
        return job_of(known) if known is not None else _unknown(name)

    found = waits(world, key, now, consider=True)
    if found is not None:
        found = found if sight.queues else _discreet(world, found)
        found = replace(found, message=missing_queue(world, workload) or found.message)
        waits_json = waiting_json(found, named, written, sight)
        return {**head, "state": "waiting", **waits_json, **_ahead(world, found, named, sight)}
    if workload.finished:
        return {**head, "state": "finished", "job": job_of(workload)}
    if workload.counts:
        return {**head, "state": "running", **running_json(holding(workload), named)}
    return {**head, "state": "beingAdmitted", "job": job_of(workload)}


def _ahead(world: World, found: Waiting, named: JobReference, sight: AccessScope) -> dict[str, Any]:
    """Who stands before it in its ClusterQueue: some of those next to it that the caller may read, the others counted.

    Nothing for the head, and for work that is in no ClusterQueue.
    """
    why = found.explanation
    before = (why.position or 1) - 1 if why is not None and why.queue else 0
    if why is None or not before:
        return {}
    last = min(before, _AHEAD)
    near = world.queues.pending[why.queue].positions().names(before - last, last)
    readable = [name for name in near if sight.of(name)]
    return {"ahead": {"workloads": [dict(named(name)) for name in readable], "others": before - len(readable)}}


def _unknown(key: str) -> dict[str, str]:
    namespace, _, name = key.partition("/")
    return {"kind": "Workload", "namespace": namespace, "name": name, "workload": name}


def _discreet(world: World, found: Waiting) -> Waiting:
    """Without the name of the Cohort or ClusterQueue elsewhere in the tree that is marked as broken."""
    why = found.explanation
    if why is None or why.reason != SUSPENDED or not why.queue:
        return found
    text = stopped(world, why.queue)
    return replace(found, message=text, explanation=replace(why, message=text)) if text else found
