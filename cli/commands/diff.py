"""Show the effect of a change on quota, and on work that runs or waits."""

from __future__ import annotations

import click

from analysis.impact import impact
from cli.exits import EXIT_CODES_OF_SIMULATIONS, strongest
from cli.input import elsewhere
from cli.input.change_set import ChangeRequest, change_options, read_changes
from cli.input.options import EngineOptions
from cli.input.options import engine as engine_options
from cli.input.outputs import Output, outputs
from cli.input.settings import installed_beside, settings
from cli.input.simulation import engine_settings, note_problems
from cli.input.snapshot import read
from cli.progress import progress, stage
from cli.report.formats import OF_IMPACTS, deliver


@click.command(epilog=EXIT_CODES_OF_SIMULATIONS)
@progress
@change_options
@outputs(tuple(OF_IMPACTS))
@engine_options
def diff(request: ChangeRequest, outputs: tuple[Output, ...], engine: EngineOptions) -> None:
    """Show the effect of a change on quota. PATH... are the files after the change.

    The output lists each node whose quota differs, with its own quota, the quota of its subtree, its guaranteed amount,
    and the amount that it can reach by borrowing, before and after. Then it lists the nodes that become over quota, and
    the workloads that are preempted, evicted or admitted, as in `quotree simulate`. If PATH has several organisations,
    each one that differs from --base REVISION is compared on its own.

    \b
    Examples:
      quotree diff trees/ --base origin/main               # what this branch does
      quotree diff trees/ --base files:trees-before/       # two states of the same files
      quotree diff change.yaml --against files:trees/      # a change on top of what is there
      quotree diff trees/ --against cluster --prune        # ... on top of the live cluster and its work
      quotree diff trees/ --base origin/main --against snapshot:prod.json
      quotree diff trees/ --base origin/main -o text -o markdown=comment.md -o html=diff.html
    """
    installed = installed_beside(request.against)
    configuration = settings(engine.config, request.selection.places, engine.profile, installed=installed)
    changes = read_changes(request, configuration)
    decisions = engine_settings(engine, configuration)
    world = read(request.against, decisions) if request.against.of_cluster else None
    others = elsewhere.manifests(request.against, configuration) if request.against.of_cluster else None
    stage("simulating")
    found = [impact(change, configuration, decisions, world, others) for change in changes]
    codes = [note_problems(each.files, each.simulation, each.others) for each in found]
    deliver(outputs, OF_IMPACTS, found)
    click.get_current_context().exit(strongest(codes))
