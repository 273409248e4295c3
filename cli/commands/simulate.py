"""`quotree simulate`: queues and work from files, played without a cluster."""

from __future__ import annotations

from collections.abc import Iterator

import click

from cli.commands.options import chosen, inputs, output
from cli.commands.options import engine as engine_options
from cli.exits import EPILOG, Exit, strongest
from cli.group import verbose
from cli.input.simulation import World, engine_settings, unreadable_lines, world
from cli.input.simulation_events import Event, Ordered, events, play
from cli.report.output import emit, note
from cli.report.simulation_json import simulation_json
from cli.report.simulation_text import simulation_text
from scheduling.simulation.simulation import Simulation, begin


@click.command(cls=Ordered, epilog=EPILOG)
@inputs
@output
@events
@engine_options
@verbose
def simulate(
    paths: tuple[str, ...],
    filenames: tuple[str, ...],
    output: str,
    events: list[Event],
    fair_sharing: bool,
    kueue_config: str | None,
    config: str | None,
    profile: str | None,
) -> None:
    """Play the ClusterQueues, Cohorts, LocalQueues and the work of PATH... as Kueue would, without a cluster.

    Work is Workloads, batch Jobs, Pods, groups of Pods, and the other kinds of jobs that Kueue queues. Cycles run until
    nothing moves; then come the events, in the order of the command line, each followed by cycles until nothing moves.
    Jobs that are preempted stop at once and queue again. Jobs run until --finish ends them.
    """
    given, simulation = start(chosen(paths, filenames), config, profile, kueue_config, fair_sharing=fair_sharing)
    for event in events:
        play(simulation, event, given)
    tell(given, simulation)
    if output == "json":
        emit(simulation_json(simulation, given.forest, given.unreadable))
    else:
        emit(simulation_text(simulation, given.forest))
    click.get_current_context().exit(strongest(codes(given, simulation)))


def start(
    paths: list[str], config: str | None, profile: str | None, kueue_config: str | None, *, fair_sharing: bool
) -> tuple[World, Simulation]:
    """The simulation of these files at its first rest. Raises Misused."""
    given = world(config, paths, profile)
    settings = engine_settings(kueue_config, given.configuration, fair_sharing=fair_sharing)
    manifests = given.take(paths)
    simulation = Simulation(settings, begin(manifests))
    simulation.add(manifests)
    return given, simulation


def tell(given: World, simulation: Simulation) -> None:
    """What is no result: input that cannot be read, and what is not played."""
    for line in unreadable_lines(given.unreadable):
        note(line)
    for section in simulation.settings.unplayed:
        note(f"{section} is not simulated")
    if simulation.unsettled:
        note("the simulation came to no rest and was broken off; the workloads at its end take turns for ever")


def codes(given: World, simulation: Simulation) -> Iterator[Exit]:
    if given.unreadable:
        yield Exit.UNREADABLE
    if simulation.unsettled:
        yield Exit.UNJUDGED
