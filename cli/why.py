"""`quotree why`: why a workload waits."""

from __future__ import annotations

import json

import click

from cli.context import Against, AgainstType
from cli.exits import EPILOG, Misused, strongest
from cli.group import verbose
from cli.options import engine as engine_options
from cli.options import output
from cli.output import emit
from cli.report.simulation_json import why_json
from cli.report.simulation_text import why_text
from cli.simulate import codes, start, tell
from policies.errors import PolicyError


@click.command(epilog=EPILOG)
@click.argument("workload", metavar="NS/NAME")
@click.option(
    "--against",
    type=AgainstType(),
    required=True,
    help="Where the workload is. Only files:DIR is there so far; the live cluster will follow.",
)
@output
@engine_options
@verbose
def why(
    workload: str,
    against: Against,
    output: str,
    fair_sharing: bool,
    kueue_config: str | None,
    config: str | None,
    profile: str | None,
) -> None:
    """Explain why the workload or job NS/NAME waits, when everything in the files has come to rest.

    It tells the ClusterQueue and the position in it, what is short, in which flavor and at which node of the tree, who
    holds it, and which limit would have to give.
    """
    if against.kind != "files":
        raise Misused("--against: only files:DIR is there so far, which plays the files of a folder")
    given, simulation = start([against.name], config, profile, kueue_config, fair_sharing=fair_sharing)
    tell(given, simulation)
    try:
        found = json.dumps(why_json(simulation, workload), indent=2, ensure_ascii=False) if output == "json" else ""
        emit(found or why_text(simulation, workload))
    except PolicyError as error:
        raise Misused(str(error)) from error
    click.get_current_context().exit(strongest(codes(given, simulation)))
