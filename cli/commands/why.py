"""Explain why a workload waits."""

from __future__ import annotations

import time

import click

from cli.exits import Misused
from cli.input import snapshot
from cli.input.against import Against, AgainstType
from cli.input.options import EngineOptions, kubeconfig, output
from cli.input.options import engine as engine_options
from cli.input.simulation import Others, Simulations, start
from cli.output import emit, json_text
from cli.report.simulations import beside
from cli.report.simulations.simulation_json import API_VERSION, why_json
from cli.report.simulations.simulation_text import why_text
from cli.report.simulations.waiting_text import elsewhere_lines, running_text, waiting_lines
from policies.model.errors import PolicyError
from policies.model.printing import plain
from scheduling.placement.objects import multikueue_state
from scheduling.visibility.workloads import holding, waits


@click.command()
@click.argument("workload", metavar="NS/NAME")
@click.option(
    "--against",
    type=AgainstType(),
    default="cluster",
    show_default=True,
    help="Where the workload is: a cluster as it is now, or files:DIR, simulated until nothing moves.",
)
@kubeconfig
@output
@engine_options
def why(workload: str, against: Against, kubeconfig: str | None, output: str, engine: EngineOptions) -> None:
    """Explain why the workload or job NS/NAME waits: in a cluster now, or in a simulation of files.

    The answer has its ClusterQueue and its position there, what is short, in which flavor and at which node of the
    tree, who uses it, and which limit to raise. For work of MultiKueue it also has the worker clusters that were
    nominated, and why none of them admits it.

    \b
    Examples:
      quotree why ml/train
      quotree why ml/train --against files:cluster/
    """
    if against.kind == "files":
        _from_files(workload, against.name, output, engine)
    else:
        _from_cluster(workload, against, kubeconfig, output, engine)


def _from_files(workload: str, folder: str, output: str, engine: EngineOptions) -> None:
    simulations = start([folder], engine)
    simulations.note_problems()
    emit(_json_of(simulations, workload) if output == "json" else _text_of(simulations, workload))
    click.get_current_context().exit(simulations.exit)


def _text_of(simulations: Simulations, workload: str) -> str:
    """Of Volcano's or YuniKorn's queues where they have such work, else of Kueue's. Raises Misused."""
    if found := _of_others(simulations, workload, "text"):
        return found
    try:
        return why_text(simulations.kueue, workload)
    except PolicyError as error:
        raise Misused(str(error)) from error


def _of_others(others: Others, name: str, output: str) -> str:
    """Empty where no such work is in the queues of others than Kueue."""
    if output != "json":
        return beside.why_text(others, name)
    found = beside.why_json(others, name)
    return json_text({"apiVersion": API_VERSION, **found}) if found else ""


def _json_of(simulations: Simulations, workload: str) -> str:
    if found := _of_others(simulations, workload, "json"):
        return found
    try:
        return json_text(why_json(simulations.kueue, workload))
    except PolicyError as error:
        raise Misused(str(error)) from error


def _from_cluster(name: str, against: Against, kubeconfig: str | None, output: str, engine: EngineOptions) -> None:
    found = snapshot.take(against, kubeconfig, engine)
    if found.others is not None and (said := _of_others(found.others, name, output)):
        emit(said)
        return
    world, names = found.world, found.names
    key, now = snapshot.key_of(world, name), time.time_ns()
    if output == "json":
        from reconciler.api.explanation import explanation_json
        from reconciler.api.placement import placement_json  # here, since files do not need them

        answer = {**explanation_json(world, key, now), **placement_json(world, key)}
        emit(json_text(answer))
        return
    pending, workload = waits(world, key, now, consider=True), world.workloads[key]
    if pending is not None:
        lines = [*waiting_lines(names, pending)]
    elif workload.finished:
        lines = [plain(f"{names.job(key)} is finished")]
    else:
        lines = [running_text(names, holding(workload))]
    emit("\n".join([*lines, *elsewhere_lines(workload, multikueue_state(workload.checks, world.checks))]))
