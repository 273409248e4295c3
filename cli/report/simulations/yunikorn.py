"""Renders a simulation of YuniKorn's queues as text, and as JSON with amounts as in queues.yaml."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from analysis.why import running_allocations, yunikorn_amounts
from cli.report.drawing import queue_rows, tree
from cli.report.explanations import allocation_lines, pod_name
from cli.report.simulations.layout import outcome_text
from scheduling.objects.times import SECOND, elapsed
from scheduling.queue_tree.simulated import PlayedEvent
from scheduling.yunikorn.as_json import waiting_json as waiting_allocation
from scheduling.yunikorn.queue import YuniKornQueue
from scheduling.yunikorn.simulation import AllocationRan, PodEnded, PodPreempted, Trace, YuniKornSimulation
from scheduling.yunikorn.usage import Applications, amounts, applications_below, rows
from scheduling.yunikorn.waiting import waiting


def as_text(simulation: YuniKornSimulation) -> str:
    scheduler, pods = simulation.scheduler, simulation.intake.pods
    return outcome_text(
        " in YuniKorn",
        ((len(scheduler.tree.queues), "queue"), (len(scheduler.applications), "application"), (len(pods), "Pod")),
        assumptions(simulation),
        (f"{elapsed(simulation.start, each.at):<6} {_event(each)}" for each in simulation.trace),
        allocation_lines(map(waiting_allocation, waiting(simulation))),
        queues_text(simulation),
    )


def assumptions(simulation: YuniKornSimulation) -> Iterator[str]:
    """Sentences about what the simulation assumes because the files do not say it."""
    if not simulation.intake.configured:
        yield "there is no queues.yaml: YuniKorn's built-in one makes a queue for each Namespace"
    if simulation.intake.capacity is None:
        yield "there are no Nodes: the cluster has room for all that the queues allow"


def _event(each: Trace) -> str:
    if isinstance(each, PlayedEvent):
        return each.event
    if isinstance(each, AllocationRan):
        return f"runs       {pod_name(each.key)} of {each.application} in {each.queue}"
    if isinstance(each, PodPreempted):
        return (
            f"preempted  {pod_name(each.key)} in {each.queue} for {pod_name(each.preemptor)} in {each.preemptor_queue}"
        )
    return f"ended      {pod_name(each.key)}"


def queues_text(
    simulation: YuniKornSimulation, top: str | None = None, visible: Callable[[str], bool] = lambda _: True
) -> Iterator[str]:
    """The tree of queues with their usage.

    `top`: the path of the queue to begin with, by default root. `visible`: whether the queue with this path is shown.
    """
    counts, queues = applications_below(simulation.scheduler), simulation.scheduler.tree
    first = queues.root if top is None else queues.queues[top]
    return tree(first, lambda queue: _rows(queue, counts[queue]), lambda queue: visible(queue.path))


def _rows(queue: YuniKornQueue, counts: Applications) -> tuple[str, list[str]]:
    notes = [*([] if queue.settings.managed else ["dynamic"]), *counts_notes(counts, queue.settings.max_applications)]
    return queue_rows(queue.path, notes, rows(queue))


def counts_notes(counts: Applications, most: int = 0) -> Iterator[str]:
    """The numbers of running and waiting applications. `most`: how many may run; 0 means no limit."""
    if counts.running or counts.waiting or most:
        yield f"applications: {counts.running}{f' of {most}' if most else ''}"
    if counts.waiting:
        yield f"waiting: {counts.waiting}"


def as_json(simulation: YuniKornSimulation) -> dict[str, Any]:
    counts = applications_below(simulation.scheduler)
    return {
        "settled": not simulation.unsettled,
        "assumptions": list(assumptions(simulation)),
        "happened": [_event_json(simulation, each) for each in simulation.trace],
        "running": running_allocations(simulation),
        "waiting": list(map(waiting_allocation, waiting(simulation))),
        "queues": [_queue(queue, counts[queue]) for queue in simulation.scheduler.tree.root.walk()],
    }


def _event_json(simulation: YuniKornSimulation, each: Trace) -> dict[str, Any]:
    event: dict[str, Any] = {"what": _WORDS[type(each)], "at": (each.at - simulation.start) // SECOND}
    if isinstance(each, PlayedEvent):
        return {**event, "event": each.event}
    event["pod"] = each.key
    if isinstance(each, AllocationRan):
        return {**event, "application": each.application, "queue": each.queue}
    if isinstance(each, PodPreempted):
        return {**event, "queue": each.queue, "for": each.preemptor, "forQueue": each.preemptor_queue}
    return event


_WORDS = {PlayedEvent: "played", AllocationRan: "runs", PodPreempted: "preempted", PodEnded: "ended"}


def _queue(queue: YuniKornQueue, counts: Applications) -> dict[str, Any]:
    own = queue.settings
    return {
        "path": queue.path,
        "leaf": queue.is_leaf,
        "managed": own.managed,
        **{word: None if each is None else yunikorn_amounts(each) for word, each in amounts(queue).items()},
        "applications": counts.running,
        "waitingApplications": counts.waiting,
        "maxApplications": own.max_applications,
    }
