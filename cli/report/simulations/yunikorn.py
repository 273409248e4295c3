"""The outcome of a simulation of YuniKorn's queues: as text, and as JSON with amounts as in queues.yaml."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from cli.report.elapsed import elapsed
from cli.report.simulations.layout import outcome_text, tree
from policies.dialects.yunikorn_config.quotas import amount_text
from policies.dialects.yunikorn_config.resources import Amounts
from policies.model.printing import plain
from scheduling.objects.times import SECOND
from scheduling.yunikorn import as_json as yunikorn_json
from scheduling.yunikorn.application import Application
from scheduling.yunikorn.queue import QueueLack, YuniKornQueue
from scheduling.yunikorn.simulation import (
    AllocationRan,
    ApplicationEnded,
    PodPreempted,
    Trace,
    YuniKornInput,
    YuniKornSimulation,
)
from scheduling.yunikorn.usage import Applications, amounts, applications_below, rows
from scheduling.yunikorn.waiting import WaitingAllocation, found, waiting


def as_text(simulation: YuniKornSimulation) -> str:
    scheduler, pods = simulation.scheduler, simulation.intake.pods
    return outcome_text(
        " in YuniKorn",
        ((len(scheduler.tree.queues), "queue"), (len(scheduler.applications), "application"), (len(pods), "Pod")),
        assumptions(simulation),
        (f"{elapsed(simulation.start, each.at):<6} {_event(each)}" for each in simulation.trace),
        waiting_lines(waiting(simulation)),
        queues_text(simulation),
    )


def assumptions(simulation: YuniKornSimulation) -> Iterator[str]:
    """Assumptions about what the files do not say."""
    if not simulation.intake.configured:
        yield "there is no queues.yaml: YuniKorn's built-in one makes a queue for each Namespace"
    if simulation.intake.capacity is None:
        yield "there are no Nodes: the cluster has room for all that the queues allow"


def _event(each: Trace) -> str:
    if isinstance(each, YuniKornInput):
        return each.event
    if isinstance(each, AllocationRan):
        return f"runs       {_named(each.key)} of {each.application} in {each.queue}"
    if isinstance(each, PodPreempted):
        return f"preempted  {_named(each.key)} in {each.queue} for {_named(each.preemptor)} in {each.preemptor_queue}"
    return f"ended      {_named(each.key)}"


def _named(key: str) -> str:
    return f"Pod {key}" if "/" in key else key


def why_text(simulation: YuniKornSimulation, name: str) -> str:
    """Why a Pod or an application waits, or where it runs; empty if the name is unknown."""
    return "\n".join([*_holding(simulation, name), *waiting_lines(found(simulation, name))])


def _holding(simulation: YuniKornSimulation, name: str) -> Iterator[str]:
    for application in simulation.scheduler.applications.values():
        for key in application.held:
            if name in (key, application.name):
                yield plain(
                    f"{_named(key)} of {application.name} runs in {application.leaf.path}: {_held(application, key)}"
                )


def _held(application: Application, key: str) -> str:
    return " ".join(
        f"{name}={amount_text(name, amount)}" for name, amount in sorted(application.held[key].amounts.items())
    )


def waiting_lines(every: Iterable[WaitingAllocation]) -> Iterator[str]:
    for each in every:
        where = f" in {each.queue}" if each.queue else ""
        message = f": {each.message}" if each.message else ""
        yield plain(f"{_named(each.key)} of {each.application}{where}: {each.reason}{message}")
        yield from (f"    {plain(lack_text(lack))}" for lack in each.lacks)


def lack_text(lack: QueueLack) -> str:
    def amount(number: int) -> str:
        return amount_text(lack.resource, number)

    whose = f" for {lack.whose}" if lack.whose else ""
    return (
        f"{lack.queue}{whose}: {lack.resource}={amount(lack.requested)} requested, "
        f"{amount(lack.used)} of {amount(lack.limit)} in use, {amount(lack.short)} short"
    )


def queues_text(
    simulation: YuniKornSimulation, top: str | None = None, visible: Callable[[str], bool] = lambda _: True
) -> Iterator[str]:
    """The tree of queues with what is in use: from `top` down (default: root), only queues whose path is `visible`."""
    counts, queues = applications_below(simulation.scheduler), simulation.scheduler.tree
    first = queues.root if top is None else queues.queues[top]
    return tree(first, lambda queue: _rows(queue, counts[queue]), lambda queue: visible(queue.path))


def _rows(queue: YuniKornQueue, counts: Applications) -> tuple[str, list[str]]:
    """The name of a queue and a line for each resource."""
    notes = [*([] if queue.settings.managed else ["dynamic"]), *counts_notes(counts, queue.settings.max_applications)]
    lines = [
        plain(f"{name}: {', '.join(f'{word} {text}' for word, text in texts.items())}") for name, texts in rows(queue)
    ]
    return plain(queue.path + (f" ({', '.join(notes)})" if notes else "")), lines


def counts_notes(counts: Applications, most: int = 0) -> Iterator[str]:
    """The number of applications, running and waiting. `most` may run; 0 means without a limit."""
    if counts.running or counts.waiting or most:
        yield f"applications: {counts.running}{f' of {most}' if most else ''}"
    if counts.waiting:
        yield f"waiting: {counts.waiting}"


def as_json(simulation: YuniKornSimulation) -> dict[str, Any]:
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
    return list(map(yunikorn_json.waiting_json, every))


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
