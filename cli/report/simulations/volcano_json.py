"""The outcome of a simulation of Volcano's queues as JSON. Amounts are written as in a Queue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cli.report.simulations.volcano_text import assumptions, group_name, job_of
from scheduling.objects.times import SECOND
from scheduling.queue_tree.shortage import Shortage
from scheduling.volcano.jobs import GangJob
from scheduling.volcano.objects import Status
from scheduling.volcano.play.simulation import (
    Enqueued,
    PodGroupEnded,
    PodsEvicted,
    PodsRan,
    Trace,
    VolcanoInput,
    VolcanoSimulation,
)
from scheduling.volcano.play.usage import amounts, phases_by_queue
from scheduling.volcano.play.waiting import Holders, WaitingPodGroup, WaitingReason, found, limited_by, waiting
from scheduling.volcano.queues import Node
from scheduling.volcano.resources import PODS, written


def volcano_json(simulation: VolcanoSimulation) -> dict[str, Any]:
    world = simulation.engine.world
    phases = phases_by_queue(world)
    return {
        "settled": not simulation.unsettled,
        "assumptions": list(assumptions(simulation)),
        "happened": [_happening(simulation, each) for each in simulation.trace],
        "running": _running(simulation, sorted(world.jobs.values(), key=lambda job: job.name)),
        "waiting": waiting_json(simulation, waiting(simulation)),
        "queues": [
            _queue(simulation, node, phases.get(node.name, {})) for node in sorted(world.queues, key=lambda n: n.name)
        ],
    }


def why_json(simulation: VolcanoSimulation, name: str) -> dict[str, Any]:
    """What runs and what waits of a Job, a PodGroup or a Pod; both empty if this name is unknown."""
    job = job_of(simulation, name)
    running = _running(simulation, [job]) if job is not None else []
    return {"running": running, "waiting": waiting_json(simulation, found(simulation, name))}


def waiting_json(simulation: VolcanoSimulation, every: Iterable[WaitingPodGroup]) -> list[dict[str, Any]]:
    holders = Holders(simulation)
    return [
        {
            "podGroup": each.group,
            "for": each.shown,
            "queue": each.queue,
            "phase": each.phase,
            "waiting": each.waits,
            "pods": each.pods,
            "reasons": [_reason(simulation, holders, reason) for reason in each.reasons],
        }
        for each in every
    ]


def _reason(simulation: VolcanoSimulation, holders: Holders, reason: WaitingReason) -> dict[str, Any]:
    lacks = [_lack(simulation, holders, each) for each in reason.refusal.shortages]
    return {"message": reason.refusal.reason, "pods": reason.pods, "lacks": lacks}


def _lack(simulation: VolcanoSimulation, holders: Holders, lack: Shortage) -> dict[str, Any]:
    amounts = {"asked": lack.requested, "used": lack.used, "limit": lack.limit, "short": lack.short}
    return {
        "queue": lack.queue,
        "resource": lack.resource,
        **{word: written(lack.resource, amount) for word, amount in amounts.items()},
        "limitedBy": limited_by(simulation.engine.world.queues, lack),
        "usedBy": [{"for": name, "amount": written(lack.resource, amount)} for name, amount in holders.of(lack)],
    }


def _running(simulation: VolcanoSimulation, jobs: Iterable[GangJob]) -> list[dict[str, Any]]:
    return [
        {
            "podGroup": job.name,
            "for": group_name(simulation, job.name),
            "queue": job.group.queue,
            "pods": running,
            "amounts": _amounts(job.allocated),
        }
        for job in jobs
        if (running := job.count(Status.RUNNING))
    ]


def _happening(simulation: VolcanoSimulation, each: Trace) -> dict[str, Any]:
    event: dict[str, Any] = {"what": _WORDS[type(each)], "at": (each.at - simulation.start) // SECOND}
    match each:
        case VolcanoInput():
            return {**event, "event": each.event}
        case PodGroupEnded():
            return {**event, "name": each.name}
        case Enqueued() | PodsRan() | PodsEvicted():
            event |= {"podGroup": each.group, "for": group_name(simulation, each.group), "queue": each.queue}
    if isinstance(each, PodsRan | PodsEvicted):
        event["pods"] = list(each.pods)
    if isinstance(each, PodsEvicted):
        event["preemptors"] = list(each.preemptors)
    return event


_WORDS = {VolcanoInput: "played", Enqueued: "enqueued", PodsRan: "runs", PodsEvicted: "evicted", PodGroupEnded: "ended"}


def _queue(simulation: VolcanoSimulation, node: Node, phases: Mapping[str, int]) -> dict[str, Any]:
    return {
        "name": node.name,
        "parent": node.parent.name if node.parent is not None else None,
        "state": node.settings.state,
        **amounts(simulation.engine.world.queues, node),
        "podGroups": dict(sorted(phases.items())),
    }


def _amounts(amounts: Mapping[str, float]) -> dict[str, str]:
    return {name: written(name, amount) for name, amount in sorted(amounts.items()) if name != PODS}
