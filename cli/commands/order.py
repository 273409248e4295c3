"""Find a safe order of applying a change, also as sync waves of Argo CD."""

from __future__ import annotations

from collections.abc import Iterator

import click

from analysis.context import ChangeSet
from analysis.rollout import Rollout, rollout
from cli.exits import Exit, exit_codes, strongest
from cli.input.change_set import ChangeRequest, change_options, read_change
from cli.input.options import configured
from cli.input.outputs import Output, outputs
from cli.input.settings import installed_beside, settings
from cli.output import note
from cli.report.formats import OF_ROLLOUTS, deliver
from cli.report.wave_files import write_waves as write_files


@click.command(epilog=exit_codes("the change is refused, or has no safe order"))
@change_options
@outputs(tuple(OF_ROLLOUTS))
@configured
@click.option(
    "--write-waves", metavar="DIR", help="Write the manifests with Argo CD's sync waves to this new folder, by step."
)
def order(
    request: ChangeRequest,
    outputs: tuple[Output, ...],
    profile: str | None,
    config: str | None,
    write_waves: str | None,
) -> None:
    """Find an order of applying PATH... (the files after the change) in which the webhook refuses no step.

    The objects of a wave may be applied in any order. If one step is not enough, for example when two full queues
    exchange their parents, a first step applies an intermediate version of an object that makes room.

    \b
    Examples:
      quotree order trees/ --base origin/main
      quotree order trees/ --base files:trees-before/
      quotree order change.yaml --against cluster -o markdown
      quotree order trees/ --base files:trees-before/ --write-waves waves/
    """
    configuration = settings(config, request.selection.places, profile, installed=installed_beside(request.against))
    change = read_change(request, configuration)
    found = rollout(change, configuration)
    for item in change.unreadable:
        note(str(item))
    if write_waves is not None:
        write_files(found, write_waves)
    deliver(outputs, OF_ROLLOUTS, found)
    click.get_current_context().exit(strongest(_codes(change, found)))


def _codes(change: ChangeSet, found: Rollout) -> Iterator[Exit]:
    if change.unreadable:
        yield Exit.UNREADABLE
    if not found.verdict.allowed or found.order.stuck:
        yield Exit.FINDINGS
