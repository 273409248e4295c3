"""The events of a simulation on the command line, in the order in which they stand there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import click

from cli.exits import Misused
from cli.input.simulation import World
from policies.model.errors import BadConfiguration, PolicyError
from scheduling.objects import times
from scheduling.simulation.simulation import Simulation
from scheduling.world.kueue_configuration import duration

_STATES = ("Ready", "Pending", "Rejected")
EVENTS = {
    "--add": ("FILE", "Objects come or change: a file or folder, or - for standard input."),
    "--finish": ("NS/NAME", "This job or workload ends."),
    "--at": ("TIME", "Time passes to then: 2026-01-01T12:00:00Z, or +1h30m after the start."),
    "--check": ("NAME=STATE", f"From now on this AdmissionCheck says {', '.join(_STATES)}."),
    "--not-ready": ("NS/NAME", "From now on the pods of this job are not ready (with waitForPodsReady)."),
}
_ORDERED = "--event"


class Event(NamedTuple):
    """`option` is one of EVENTS."""

    option: str
    value: str

    def __str__(self) -> str:
        return f"{self.option} {self.value}"


class Ordered(click.Command):
    """A command whose events keep their order: click itself tells the order of one option's values only."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_as_one_option(args)))


def _as_one_option(args: list[str]) -> Iterator[str]:
    """Each event as a value of one and the same option."""
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
    """The options; the command gets all of them as `events`."""
    for option, (metavar, about) in reversed(EVENTS.items()):
        command = click.option(option, metavar=metavar, expose_value=False, help=f"{about} Repeatable.")(command)
    return click.option(_ORDERED, "events", multiple=True, hidden=True, callback=_split)(command)


def _split(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> list[Event]:  # noqa: ARG001, click's
    return [Event(option, value) for option, _, value in (each.partition("=") for each in values)]


def play(simulation: Simulation, event: Event, world: World) -> None:
    """Raises Misused where the event makes no sense as things are."""
    option, value = event
    simulation.announce(str(event))
    try:
        if option == "--add":
            simulation.add(world.take([value]))
        elif option == "--finish":
            simulation.finish(value)
        elif option == "--not-ready":
            simulation.lose_pods(value)
        elif option == "--check":
            simulation.check(*_check(value, simulation))
        else:
            simulation.at(_moment(value, simulation))
    except PolicyError as error:
        raise Misused(f"{event}: {error}") from error


def _moment(value: str, simulation: Simulation) -> int:
    """Raises BadConfiguration."""
    later = value.startswith("+")
    moment = simulation.start + duration(value.removeprefix("+"), "") if later else times.parse(value)
    if not moment:
        raise BadConfiguration("no moment; write it as 2026-01-01T12:00:00Z, or as +1h30m after the start")
    if moment // times.SECOND < simulation.now // times.SECOND:
        raise BadConfiguration(f"that is over: it is {times.written(simulation.now)} by then")
    return moment


def _check(value: str, simulation: Simulation) -> tuple[str, str]:
    """Raises BadConfiguration."""
    name, _, state = value.partition("=")
    if state not in _STATES:
        raise BadConfiguration(f"write NAME=STATE, the state one of {', '.join(_STATES)}")
    if name not in simulation.world.checks:
        raise BadConfiguration(f"there is no AdmissionCheck {name}")
    return name, state
