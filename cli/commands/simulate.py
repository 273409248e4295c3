"""Simulate queues and work from files: what is admitted, what is preempted, what waits and why."""

from __future__ import annotations

from collections.abc import Mapping

import click

from analysis.simulation import Simulations
from cli.exits import EXIT_CODES_OF_SIMULATIONS
from cli.input.options import EngineOptions, input_paths, inputs, output
from cli.input.options import engine as engine_options
from cli.input.simulation import note_problems, scheduler_conf, start
from cli.input.simulation_events import CommandWithEvents, EventOption, events, play
from cli.output import emit, json_text
from cli.progress import progress
from cli.report.simulations import kueue, other_projects


@click.command(cls=CommandWithEvents, epilog=EXIT_CODES_OF_SIMULATIONS)
@progress
@inputs
@output
@events
@engine_options
@click.option(
    "--law",
    type=click.Choice(["settled", "volcano"]),
    default="settled",
    show_default=True,
    help="How Volcano's queues reclaim: as in Volcano, or settled, with stricter conditions, so that reclaim ends.",
)
@click.option(
    "--scheduler-conf", "conf_file", metavar="FILE", help="Volcano's volcano-scheduler.conf, or a ConfigMap with it."
)
def simulate(
    paths: tuple[str, ...],
    filenames: tuple[str, ...],
    output: str,
    events: list[EventOption],
    engine: EngineOptions,
    law: str,
    conf_file: str | None,
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
    simulations = start(input_paths(paths, filenames), engine, scheduler_conf(law, conf_file))
    for event in events:
        play(simulations, event)
    code = note_problems(simulations.files, simulations.kueue, simulations.others)
    emit(_json(simulations) if output == "json" else _text(simulations))
    click.get_current_context().exit(code)


def _json(simulations: Simulations) -> str:
    found = kueue.as_json(simulations.kueue, simulations.files)
    found["inNoQueue"] = [each for each in found["inNoQueue"] if not _is_volcano_pod(simulations, each)]
    return json_text({**found, **other_projects.as_json(simulations)})


def _is_volcano_pod(simulations: Simulations, job: Mapping[str, str]) -> bool:
    """Whether a job that is in no queue of Kueue is a Pod of Volcano."""
    return job["kind"] == "Pod" and f"{job['namespace']}/{job['name']}" in simulations.volcano.engine.world.tasks


def _text(simulations: Simulations) -> str:
    simulation, texts = simulations.kueue, list(other_projects.texts(simulations))
    if not texts or simulation.names or simulation.world.state.queues:
        texts.insert(0, kueue.as_text(simulation, simulations.files.forest))
    return "\n\n".join(texts)
