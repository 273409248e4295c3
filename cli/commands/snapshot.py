"""Write the quota, usage and work of a cluster into a file, to judge against without the cluster."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from cli.exits import EXIT_CODES_OF_ACTIONS, Exit, Misused, OutOfReach
from cli.input.against import Against
from cli.input.context import collect, node_use
from cli.input.options import against_of
from cli.input.settings import settings
from cli.input.snapshot_file import MAX_SIZE, SnapshotFile
from cli.output import emit, note, replace, some
from cli.progress import progress
from cli.report.redaction import Redaction
from cli.report.snapshot_json import snapshot_json
from policies.dialects.core import NODE
from policies.dialects.kueue import RESOURCE_FLAVOR
from policies.dialects.reading import Manifest, mapping
from policies.model.objects import Ref


@click.command(epilog=EXIT_CODES_OF_ACTIONS)
@progress
@against_of("cluster", "The cluster to take the snapshot of.")
@click.option("--file", metavar="FILE", help="The file to write. Default: standard output.")
@click.option("--hash-names", is_flag=True, help="Hash the names of work, and of YuniKorn's users and groups.")
@click.option("--config", metavar="FILE", help="Quotree's configuration; it says where YuniKorn's objects are.")
def snapshot(against: Against, file: str | None, hash_names: bool, config: str | None) -> None:
    """Write a snapshot of a cluster: queues, quota, usage, and running and pending work as requests.

    It contains no Secrets. Of a Pod it contains only the requests and the fields that decide its flavor. With
    topologies it also has the sum of the Pods' requests on each Node. The names of queues, flavors and namespaces are
    kept, since a change is compared with them.

    \b
    Examples:
      quotree snapshot --file prod.json
      quotree snapshot --against cluster:prod --hash-names --file prod.json
      quotree validate change.yaml --against snapshot:prod.json
    """
    if against.kind != "cluster":
        raise Misused("--against: a snapshot is taken of a cluster; write cluster or cluster:CONTEXT")
    yunikorn = settings(config, ()).yunikorn
    redaction, found = Redaction(hash_names), dict[Ref, dict[str, object]]()

    def keep(ref: Ref, manifest: Manifest) -> None:
        if (redacted := redaction.redact(manifest)) is not None:
            found[ref] = redacted

    now = datetime.now(UTC)
    complete = collect(against, yunikorn, keep)
    _add_node_use(against, found)
    objects = tuple(manifest for _, manifest in sorted(found.items(), key=lambda each: each[0]))
    text = snapshot_json(SnapshotFile(now, against.name, complete, objects, hash_names))
    if len(text) > MAX_SIZE:
        most = f"{MAX_SIZE // 2**20} MiB"
        raise OutOfReach(f"the snapshot is larger than {most}, which no command reads; use --against cluster instead")
    if file is None:
        emit(text)
    else:
        _write(Path(file), text)
        note(f"{file}: {some(len(objects), 'object')} of {against}")
    click.get_current_context().exit(Exit.CLEAN)


def _add_node_use(against: Against, found: dict[Ref, dict[str, object]]) -> None:
    """If a flavor has a topology, add to each Node its use by other Pods, since the placement depends on it."""
    nodes = [ref for ref in found if ref.group_kind == NODE]
    flavors = [manifest for ref, manifest in found.items() if ref.group_kind == RESOURCE_FLAVOR]
    if not nodes or not any(mapping(each.get("spec")).get("topologyName") for each in flavors):
        return
    from reconciler.objects.node_use import with_use  # here, since it takes long to load

    use = node_use(against)
    found.update((ref, with_use(found[ref], use)) for ref in nodes)


def _write(file: Path, text: str) -> None:
    try:
        replace(file, text)
    except OSError as error:
        raise OutOfReach(f"{file}: cannot be written: {error.strerror or error}") from error
