"""The outcome of a simulation of YuniKorn's queues as JSON. Amounts are written as in queues.yaml."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cli.report.simulations.yunikorn_text import assumptions
from policies.dialects.yunikorn_config.quotas import amount_text
from policies.dialects.yunikorn_config.resources import Amounts
from scheduling.objects.times import SECOND
from scheduling.yunikorn import as_json
from scheduling.yunikorn.queue import YuniKornQueue
from scheduling.yunikorn.simulation import (
    AllocationRan,
    ApplicationEnded,
    PodPreempted,
    Trace,
    YuniKornInput,
    YuniKornSimulation,
)
from scheduling.yunikorn.usage import Applications, amounts, applications_below
from scheduling.yunikorn.waiting import WaitingAllocation, found, waiting


def yunikorn_json(simulation: YuniKornSimulation) -> dict[str, Any]:
    counts = applications_below(simulation.scheduler)
    return {
        "settled": not simulation.unsettled,
        "assumptions": list(assumptions(simulation)),
        "happened": [_happening(simulation, each) for each in simulation.trace],
        "running": _running(simulation, ""),
        "waiting": waiting_json(waiting(simulation)),
        "queues": [_queue(queue, counts[queue]) for queue in simulation.scheduler.tree.root.walk()],
    }


def why_json(simulation: YuniKornSimulation, name: str) -> dict[str, Any]:
    """What runs and what waits of a Pod, or of an application; both empty if this name is unknown."""
    return {"running": _running(simulation, name), "waiting": waiting_json(found(simulation, name))}


def _running(simulation: YuniKornSimulation, name: str) -> list[dict[str, Any]]:
    return [
        {"pod": key, "application": each.name, "queue": each.leaf.path, "amounts": _amounts(ask.amounts)}
        for each in sorted(simulation.scheduler.applications.values(), key=lambda each: each.name)
        for key, ask in sorted(each.held.items())
        if name in ("", key, each.name)
    ]


def _happening(simulation: YuniKornSimulation, each: Trace) -> dict[str, Any]:
    event: dict[str, Any] = {"what": _WORDS[type(each)], "at": (each.at - simulation.start) // SECOND}
    if isinstance(each, YuniKornInput):
        return {**event, "event": each.event}
    event["pod"] = each.key
    if isinstance(each, AllocationRan):
        return {**event, "application": each.application, "queue": each.queue}
    if isinstance(each, PodPreempted):
        return {**event, "queue": each.queue, "for": each.preemptor, "forQueue": each.preemptor_queue}
    return event


_WORDS = {YuniKornInput: "played", AllocationRan: "runs", PodPreempted: "preempted", ApplicationEnded: "ended"}


def waiting_json(every: Iterable[WaitingAllocation]) -> list[dict[str, Any]]:
    return list(map(as_json.waiting_json, every))


def _queue(queue: YuniKornQueue, counts: Applications) -> dict[str, Any]:
    own = queue.settings
    return {
        "path": queue.path,
        "leaf": queue.is_leaf,
        "managed": own.managed,
        **{word: _amounts(each) for word, each in amounts(queue).items()},
        "applications": counts.running,
        "waitingApplications": counts.waiting,
        "maxApplications": own.max_applications,
    }


def _amounts(amounts: Amounts | None) -> dict[str, str] | None:
    """The amounts as text; None if nothing is limited."""
    return None if amounts is None else {name: amount_text(name, amount) for name, amount in sorted(amounts.items())}
