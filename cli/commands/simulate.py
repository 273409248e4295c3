"""Simulate queues and work from files: what is admitted, what is preempted, what waits and why."""

from __future__ import annotations

import click

from analysis.simulation import Simulations
from cli.input.options import EngineOptions, input_paths, inputs, output
from cli.input.options import engine as engine_options
from cli.input.simulation import note_problems, start
from cli.input.simulation_events import CommandWithEvents, EventOption, events, play
from cli.output import emit, json_text
from cli.progress import progress
from cli.report.simulations import beside, kueue


@click.command(cls=CommandWithEvents)
@progress
@inputs
@output
@events
@engine_options
def simulate(
    paths: tuple[str, ...], filenames: tuple[str, ...], output: str, events: list[EventOption], engine: EngineOptions
) -> None:
    """Simulate how Kueue, Volcano and YuniKorn would schedule the work in PATH... on their queues.

    No cluster is needed. Work is Workloads, batch Jobs, Pods, groups of Pods, and the other kinds of jobs that Kueue
    queues; PodGroups, Jobs and Pods of Volcano; and Pods of YuniKorn's scheduler, by application. Scheduling cycles run
    until nothing changes. Then the events follow in the order of the command line, and after each one cycles run again
    until nothing changes. Preempted work stops at once and queues again. A job, or a Pod of Volcano or YuniKorn, runs
    until --finish ends it.

    \b
    Examples:
      quotree simulate queues/ work/
      quotree simulate queues/ --add work.yaml --at +1h --finish ml/train
    """
    simulations = start(input_paths(paths, filenames), engine)
    for event in events:
        play(simulations, event)
    code = note_problems(simulations.files, simulations.kueue, simulations.beside)
    emit(_json(simulations) if output == "json" else _text(simulations))
    click.get_current_context().exit(code)


def _json(simulations: Simulations) -> str:
    files = simulations.files
    return json_text({**kueue.as_json(simulations.kueue, files), **beside.as_json(simulations)})


def _text(simulations: Simulations) -> str:
    simulation, others = simulations.kueue, list(beside.texts(simulations))
    if not others or simulation.names or simulation.world.state.queues:
        others.insert(0, kueue.as_text(simulation, simulations.files.forest))
    return "\n\n".join(others)
