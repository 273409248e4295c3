"""The events of a simulation, in the order of the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import click

from analysis.simulation import Simulations
from cli.exits import Misused
from cli.input.documents import gather
from policies.configuration.kueue.durations import duration
from policies.model.errors import BadConfiguration, PolicyError
from scheduling.objects import times
from scheduling.simulation.simulation import KueueSimulation

_STATES = ("Ready", "Pending", "Rejected")
EVENTS = {
    "--add": ("FILE", "Create or change objects: a file or folder, or - for standard input."),
    "--finish": ("NS/NAME", "End this job or workload."),
    "--at": ("TIME", "Go on to this time: 2026-01-01T12:00:00Z, or +1h30m after the start."),
    "--check": ("NAME=STATE", f"Set the state of this AdmissionCheck: {', '.join(_STATES)}."),
    "--not-ready": ("NS/NAME", "Make the pods of this job unready (with waitForPodsReady)."),
}
_ORDERED = "--event"


class EventOption(NamedTuple):
    """An event of the command line. `option`: one of EVENTS."""

    option: str
    value: str

    def __str__(self) -> str:
        return f"{self.option} {self.value}"


class CommandWithEvents(click.Command):
    """A command that keeps the order of its events. click only keeps the order of the values of one option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_as_one_option(args)))


def _as_one_option(args: list[str]) -> Iterator[str]:
    """The arguments, with each event as a value of one common option."""
    rest = iter(args)
    for arg in rest:
        option, equals, value = arg.partition("=")
        if arg == "--":
            yield arg
            yield from rest
        elif option not in EVENTS:
            yield arg
        elif equals or (found := next(rest, None)) is None:
            yield from (_ORDERED, f"{option}={value}") if equals else (arg,)
        else:
            yield from (_ORDERED, f"{option}={found}")


def events(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for events to a command, which gets all of them as `events`."""
    for option, (metavar, about) in reversed(EVENTS.items()):
        command = click.option(option, metavar=metavar, expose_value=False, help=f"{about} Repeatable.")(command)
    return click.option(_ORDERED, "events", multiple=True, hidden=True, callback=_split)(command)


def _split(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> list[EventOption]:  # noqa: ARG001, click's
    return [EventOption(option, value) for option, _, value in (each.partition("=") for each in values)]


def play(simulations: Simulations, event: EventOption) -> None:
    """Play one event in the simulations. Raises Misused if the event is not possible now."""
    option, value = event
    simulation = simulations.kueue
    simulation.announce(str(event))
    for each in simulations.others:
        each.announce(str(event))
    try:
        if option == "--add":
            simulation.add(simulations.files.accept(gather([value])))
        elif option == "--finish":
            if not any(each.finish(value) for each in simulations.others):
                simulation.finish(value)
        elif option == "--not-ready":
            simulation.lose_pods(value)
        elif option == "--check":
            simulation.check(*_check(value, simulation))
        else:
            simulation.at(_time(value, simulation))
    except PolicyError as error:
        raise Misused(f"{event}: {error}") from error
    simulations.bring()


def _time(value: str, simulation: KueueSimulation) -> int:
    """Parse a time of the simulation, in nanoseconds. Raises BadConfiguration."""
    later = value.startswith("+")
    time = simulation.start + duration(value.removeprefix("+"), "") if later else times.parse(value)
    if not time:
        raise BadConfiguration("not a time; write 2026-01-01T12:00:00Z, or +1h30m after the start")
    if time // times.SECOND < simulation.now // times.SECOND:
        raise BadConfiguration(f"this time has passed: it is {times.rfc3339(simulation.now)} already; name a later one")
    return time


def _check(value: str, simulation: KueueSimulation) -> tuple[str, str]:
    """Parse NAME=STATE of an AdmissionCheck. Raises BadConfiguration."""
    name, _, state = value.partition("=")
    if state not in _STATES:
        raise BadConfiguration(f"write NAME=STATE, the state one of {', '.join(_STATES)}")
    if name not in simulation.world.checks:
        known = ", ".join(sorted(simulation.world.checks)) or "none"
        raise BadConfiguration(f"there is no AdmissionCheck {name}; the input has {known}")
    return name, state
