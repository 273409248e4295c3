"""The outcome of a simulation of YuniKorn's queues as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cli.report.elapsed import elapsed
from cli.report.simulations.layout import section, some, tree
from policies.dialects.yunikorn_config.quotas import shown
from policies.model.printing import plain
from scheduling.yunikorn.application import Application
from scheduling.yunikorn.queue import Lack, Queue
from scheduling.yunikorn.simulation import Event, Left, Ran, Simulation, Trace
from scheduling.yunikorn.waiting import Waiting, found, waiting


def yunikorn_text(simulation: Simulation) -> str:
    return "\n".join(
        [
            plain(_head(simulation)),
            *(f"assumed: {each}" for each in assumptions(simulation)),
            *section("what happened in YuniKorn", (_happened(simulation, each) for each in simulation.trace)),
            *section("what waits in YuniKorn", waiting_lines(waiting(simulation))),
            *section("what is in use in YuniKorn", tree(simulation.scheduler.tree.root, _rows), indent=""),
        ]
    )


def assumptions(simulation: Simulation) -> Iterator[str]:
    """What the files leave open."""
    if not simulation.intake.configured:
        yield "there is no queues.yaml: YuniKorn's built-in one makes a queue for each Namespace"
    if simulation.intake.capacity is None:
        yield "there are no Nodes: the cluster has room for all that the queues allow"


def _head(simulation: Simulation) -> str:
    scheduler = simulation.scheduler
    counts = (
        (len(scheduler.tree.queues), "queue"),
        (len(scheduler.applications), "application"),
        (len(simulation.intake.pods), "Pod"),
    )
    return "simulated in YuniKorn: " + ", ".join(some(*count) for count in counts)


def _happened(simulation: Simulation, each: Trace) -> str:
    return plain(f"{elapsed(simulation.start, each.at):<6} {_event(each)}")


def _event(each: Trace) -> str:
    if isinstance(each, Event):
        return each.event
    if isinstance(each, Ran):
        return f"runs       {_named(each.key)} of {each.application} in {each.queue}"
    if isinstance(each, Left):
        return f"preempted  {_named(each.key)} in {each.queue} for {_named(each.preemptor)} in {each.preemptor_queue}"
    return f"ended      {_named(each.key)}"


def _named(key: str) -> str:
    return f"Pod {key}" if "/" in key else key


def why_text(simulation: Simulation, name: str) -> str:
    """A Pod, or an application; empty where there is none of this name."""
    return "\n".join([*_holding(simulation, name), *waiting_lines(found(simulation, name))])


def _holding(simulation: Simulation, name: str) -> Iterator[str]:
    for application in simulation.scheduler.applications.values():
        for key in application.held:
            if name in (key, application.name):
                yield plain(
                    f"{_named(key)} of {application.name} runs in {application.leaf.path}: {_held(application, key)}"
                )


def _held(application: Application, key: str) -> str:
    return " ".join(f"{name}={shown(name, amount)}" for name, amount in sorted(application.held[key].amounts.items()))


def waiting_lines(every: Iterable[Waiting]) -> Iterator[str]:
    for each in every:
        where = f" in {each.queue}" if each.queue else ""
        message = f": {each.message}" if each.message else ""
        yield plain(f"{_named(each.key)} of {each.application}{where}: {each.reason}{message}")
        yield from (f"    {plain(lack_text(lack))}" for lack in each.lacks)


def lack_text(lack: Lack) -> str:
    def amount(number: int) -> str:
        return shown(lack.resource, number)

    whose = f" for {lack.whose}" if lack.whose else ""
    return (
        f"{lack.queue}{whose}: {lack.resource}={amount(lack.asked)} asked, {amount(lack.used)} of {amount(lack.limit)} "
        f"in use, {amount(lack.short)} short"
    )


def _rows(queue: Queue) -> tuple[str, list[str]]:
    """The name of a queue and a line for each resource."""
    own = queue.settings
    notes = [] if own.managed else ["dynamic"]
    if queue.running or own.max_applications:
        most = f" of {own.max_applications}" if own.max_applications else ""
        notes.append(f"applications: {queue.running}{most}")
    columns = {"max": own.maximum, "guaranteed": own.guaranteed, "used": queue.allocated, "pending": queue.pending}
    names = sorted({name for amounts in columns.values() for name in amounts or {}})
    lines = []
    for name in names:
        values = (
            f"{word} {shown(name, amounts[name])}" for word, amounts in columns.items() if amounts and name in amounts
        )
        lines.append(plain(f"{name}: {', '.join(values)}"))
    return plain(queue.path + (f" ({', '.join(notes)})" if notes else "")), lines
