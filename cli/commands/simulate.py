"""Simulate queues and work from files: what is admitted, what is preempted, what waits and why."""

from __future__ import annotations

import click

from cli.exits import strongest
from cli.input.options import EngineOptions, input_paths, inputs, output
from cli.input.options import engine as engine_options
from cli.input.simulation import exit_codes, note_problems, start
from cli.input.simulation_events import CommandWithEvents, Event, events, play
from cli.output import emit
from cli.report.simulation_json import simulation_json
from cli.report.simulation_text import simulation_text


@click.command(cls=CommandWithEvents)
@inputs
@output
@events
@engine_options
def simulate(
    paths: tuple[str, ...], filenames: tuple[str, ...], output: str, events: list[Event], engine: EngineOptions
) -> None:
    """Simulate how Kueue would schedule the work in PATH... on its ClusterQueues, Cohorts and LocalQueues.

    No cluster is needed. Work is Workloads, batch Jobs, Pods, groups of Pods, and the other kinds of jobs that Kueue
    queues. Scheduling cycles run until nothing moves; then the events follow in the order of the command line, and
    after each one cycles run again until nothing moves. A preempted job stops at once and queues again. A job runs
    until --finish ends it.

    \b
    Examples:
      quotree simulate queues/ work/
      quotree simulate queues/ --add work.yaml --at +1h --finish ml/train
    """
    files, simulation = start(input_paths(paths, filenames), engine)
    for event in events:
        play(simulation, event, files)
    note_problems(files, simulation)
    if output == "json":
        emit(simulation_json(simulation, files.forest, files.unreadable))
    else:
        emit(simulation_text(simulation, files.forest))
    click.get_current_context().exit(strongest(exit_codes(files, simulation)))
