"""`quotree pending`: who waits at a queue, in which place, and why."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import click

from cli.commands.options import engine as engine_options
from cli.commands.options import output
from cli.exits import EPILOG, Misused
from cli.group import verbose
from cli.input.context import Against, AgainstType
from cli.input.live import Decided, Told, opened
from cli.report.output import emit, plain
from reconciler.visible.pending import Row, homeless, item, local_rows, rows
from scheduling.world.world import World

_NOBODY = "nobody waits"


@click.command(epilog=EPILOG)
@click.argument("queue", metavar="[CLUSTERQUEUE | NS/LOCALQUEUE]", default="")
@click.option(
    "--against",
    type=AgainstType(),
    default="cluster",
    show_default=True,
    help="Where the queues are: a cluster as it is now, or files:DIR, which is played until it rests.",
)
@click.option("--kubeconfig", metavar="FILE", help="The kubeconfig for --against cluster.")
@click.option(
    "--limit", type=click.IntRange(1), default=1000, show_default=True, help="So many of each queue, from its head."
)
@output
@engine_options
@verbose
def pending(
    queue: str,
    against: Against,
    kubeconfig: str | None,
    limit: int,
    output: str,
    fair_sharing: bool,
    kueue_config: str | None,
    config: str | None,
    profile: str | None,
) -> None:
    """List who waits at CLUSTERQUEUE, at the LocalQueue NS/LOCALQUEUE, or anywhere: places, and the reason of each."""
    told = opened(against, kubeconfig, Decided(config, profile, kueue_config, fair_sharing))
    found = list(_queues(told.world, queue, limit))
    emit(_json(found) if output == "json" else "\n".join(_text(told, found)) or _NOBODY)
    click.get_current_context().exit(told.exit)


@dataclass(frozen=True, slots=True)
class _Queue:
    """Who waits at a queue: `shown` of `count`. `kind` is empty for those that wait at none."""

    kind: str
    name: str
    shown: list[Row]
    count: int


def _queues(world: World, queue: str, limit: int) -> Iterator[_Queue]:
    """Raises Misused where there is no such queue."""
    if "/" in queue:
        yield _local_queue(world, queue, limit)
    elif queue:
        if queue not in world.queues.pending:
            raise Misused(f"there is no ClusterQueue {queue}; for a LocalQueue write NAMESPACE/NAME")
        yield _cluster_queue(world, queue, limit)
    else:
        found = (_cluster_queue(world, name, limit) for name in sorted(world.queues.pending))
        yield from (each for each in found if each.count)
        if nowhere := homeless(world):
            yield _Queue("", "", nowhere[:limit], len(nowhere))


def _cluster_queue(world: World, name: str, limit: int) -> _Queue:
    return _Queue("ClusterQueue", name, rows(world, name, 0, limit), len(world.queues.pending[name]))


def _local_queue(world: World, name: str, limit: int) -> _Queue:
    if name not in world.queues.local_queues:
        raise Misused(f"there is no LocalQueue {name}; for a ClusterQueue write its name alone")
    return _Queue("LocalQueue", name, local_rows(world, name, 0, limit), sum(1 for _ in world.queues.waiting_at(name)))


def _json(found: list[_Queue]) -> str:
    queues = [
        {"kind": each.kind, "name": each.name, "pending": each.count, "items": list(map(item, each.shown))}
        for each in found
    ]
    answer = {"apiVersion": "quotree.dev/v1alpha1", "kind": "PendingWorkloads", "queues": queues}
    return json.dumps(answer, indent=2, ensure_ascii=False)


def _text(told: Told, found: list[_Queue]) -> Iterator[str]:
    for each in found:
        where = f"{each.kind} {each.name}" if each.kind else "at no ClusterQueue"
        yield plain(f"{where}: {each.count} pending" if each.count else f"{where}: {_NOBODY}")
        yield from (f"  {plain(_line(told, each.kind, row))}" for row in each.shown)
        if each.count > len(each.shown):
            yield f"  and {each.count - len(each.shown)} more"


def _line(told: Told, kind: str, row: Row) -> str:
    job = told.words.job(row.workload.key)
    what = f"{job}, priority {row.workload.priority}: {row.reason}: {row.message}"
    if row.place is None or row.place_in_local is None:
        return what
    if kind == "LocalQueue":
        return f"{row.place_in_local + 1:>3}  {what} (number {row.place + 1} of its ClusterQueue)"
    return f"{row.place + 1:>3}  {what}"
