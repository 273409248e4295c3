"""Migrate queues of Volcano or YuniKorn, or of Kueue's old versions, to Kueue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cli.exits import Exit, Misused, exit_codes
from cli.input.against import Against
from cli.input.migration import Origin, migrated, totals
from cli.input.options import against_of, inputs, output
from cli.output import emit, note
from cli.report.migrations import migration_json, migration_text
from policies.dialects.labels import is_domain
from policies.migration import MigrationWish


def _default_context(options: Mapping[str, Any]) -> str:
    return "cluster" if options["live"] else "nothing"


@click.command(epilog=exit_codes("an object was refused (--live)"))
@inputs
@click.option(
    "--from",
    "origin",
    type=click.Choice([it.value for it in Origin]),
    required=True,
    help="The project that the queues are from.",
)
@click.option(
    "--to", type=click.Choice(["kueue"]), default="kueue", show_default=True, help="The project to write objects for."
)
@click.option(
    "--total",
    metavar="RESOURCE=AMOUNT",
    multiple=True,
    help="The capacity of the machines, repeatable: cpu=64, memory=1Ti.",
)
@click.option("--flavor", metavar="NAME", default="default", show_default=True, help="The ResourceFlavor of the quota.")
@click.option(
    "--live",
    is_flag=True,
    help="With --from kueue: the objects that a cluster stores in old versions. Without --apply nothing is changed.",
)
@click.option("--apply", "applied", is_flag=True, help="With --live: store them as v1beta2.")
@against_of(_default_context, "What exists besides the input files; they override it. With --live: the cluster.")
@output
def migrate(
    paths: tuple[str, ...],
    filenames: tuple[str, ...],
    origin: str,
    to: str,  # noqa: ARG001, there is one choice today
    total: tuple[str, ...],
    flavor: str,
    live: bool,
    applied: bool,
    against: Against,
    output: str,
) -> None:
    """Write Kueue's objects (v1beta2) for the queues in PATH..., and list the settings that cannot be kept.

    The output is YAML for `kubectl apply`. It begins with comments: the settings that cannot be kept, each with the
    reason and what to do instead. Set --total to what the machines have, since no manifest says it; without it the
    tree gets what its queues are promised. Nothing is written to a cluster without --live --apply.

    With --live, the stored objects of Kueue in a cluster are migrated to v1beta2, as Kueue 0.20 needs. Their content
    does not change. If the command is interrupted, run it again to continue.

    \b
    Examples:
      quotree migrate queues/ --from volcano --total cpu=64 --total memory=256Gi > kueue.yaml
      quotree migrate queues.yaml namespaces.yaml --from yunikorn --total cpu=64
      quotree migrate --from volcano --against cluster     # with the namespaces whose work uses each queue
      quotree migrate old/ --from kueue                    # v1alpha1 and v1beta1 to v1beta2
      quotree migrate --from kueue --live                  # what would be stored again; nothing is changed
      quotree migrate --from kueue --live --apply
      quotree migrate queues/ --from volcano | quotree validate -
      quotree migrate queues/ --from volcano -o json       # for programs
    """
    if not is_domain(flavor):
        raise Misused(f"--flavor {flavor}: not a valid name; write lower-case letters, digits, - and .")
    sources = tuple(dict.fromkeys([*paths, *filenames]))
    if applied and not live:
        raise Misused("--apply needs --live: without it nothing is written to a cluster")
    if live:
        if origin != Origin.KUEUE or sources or against.kind != "cluster" or output != "text":
            raise Misused("--live needs --from kueue and a cluster, and takes neither files nor -o json")
        from cli.actions.storage_migration import migrate_stored  # imported late: see cli/actions

        click.get_current_context().exit(migrate_stored(against.login, applied=applied))
    found = migrated(Origin(origin), sources, against, MigrationWish(totals(total), flavor))
    for item in found.unreadable:
        note(str(item))
    if not found.migration.objects and not found.migration.lost and output == "text":
        note(f"nothing to migrate: no queues of {origin} in the input")
    else:
        emit(migration_json(found) if output == "json" else migration_text(found))
    only_lost = found.migration.lost and not found.migration.objects
    click.get_current_context().exit(Exit.UNREADABLE if found.unreadable or only_lost else Exit.CLEAN)
