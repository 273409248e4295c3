"""`quotree why`: why a workload waits."""

from __future__ import annotations

import json
import time

import click

from cli.commands.options import engine as engine_options
from cli.commands.options import output
from cli.commands.simulate import codes, start, tell
from cli.exits import EPILOG, Misused, strongest
from cli.group import verbose
from cli.input.context import Against, AgainstType
from cli.input.live import Decided, key_of, opened
from cli.report.output import emit, plain
from cli.report.simulation_json import why_json
from cli.report.simulation_text import why_text
from cli.report.waiting_text import elsewhere_lines, running_text, waiting_lines
from policies.model.errors import PolicyError
from scheduling.cycle.standing import holding, waits
from scheduling.placement.objects import multikueue_state


@click.command(epilog=EPILOG)
@click.argument("workload", metavar="NS/NAME")
@click.option(
    "--against",
    type=AgainstType(),
    default="cluster",
    show_default=True,
    help="Where the workload is: a cluster as it is now, or files:DIR, which is played until it rests.",
)
@click.option("--kubeconfig", metavar="FILE", help="The kubeconfig for --against cluster.")
@output
@engine_options
@verbose
def why(
    workload: str,
    against: Against,
    kubeconfig: str | None,
    output: str,
    fair_sharing: bool,
    kueue_config: str | None,
    config: str | None,
    profile: str | None,
) -> None:
    """Explain why the workload or job NS/NAME waits: now in a cluster, or when all that files hold has come to rest.

    It tells the ClusterQueue and the position in it, what is short, in which flavor and at which node of the tree, who
    holds it, and which limit would have to give; of work for other clusters also who was asked, and why none takes it.
    """
    decided = Decided(config, profile, kueue_config, fair_sharing)
    if against.kind == "files":
        _of_files(workload, against, output, decided)
    else:
        _of_cluster(workload, against, kubeconfig, output, decided)


def _of_files(workload: str, against: Against, output: str, decided: Decided) -> None:
    options = (decided.config, decided.profile, decided.kueue_config)
    given, simulation = start([against.name], *options, fair_sharing=decided.fair_sharing)
    tell(given, simulation)
    try:
        found = json.dumps(why_json(simulation, workload), indent=2, ensure_ascii=False) if output == "json" else ""
        emit(found or why_text(simulation, workload))
    except PolicyError as error:
        raise Misused(str(error)) from error
    click.get_current_context().exit(strongest(codes(given, simulation)))


def _of_cluster(called: str, against: Against, kubeconfig: str | None, output: str, decided: Decided) -> None:
    told = opened(against, kubeconfig, decided)
    key, now = key_of(told.world, called), time.time_ns()
    if output == "json":
        from reconciler.visible.elsewhere import placement_json  # here, since files need nothing of them
        from reconciler.visible.explained import explanation_json

        answer = {**explanation_json(told.world, key, now), **placement_json(told.world, key)}
        emit(json.dumps(answer, indent=2, ensure_ascii=False))
        return
    found, workload = waits(told.world, key, now, consider=True), told.world.workloads[key]
    if found is not None:
        lines = [*waiting_lines(told.words, found)]
    elif workload.finished:
        lines = [plain(f"{told.words.job(key)} is finished")]
    else:
        lines = [running_text(told.words, holding(workload))]
    emit("\n".join([*lines, *elsewhere_lines(workload, multikueue_state(workload.checks, told.world.checks))]))
