"""List the pending workloads of each queue, with position and reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import click

from cli.exits import Misused
from cli.input import snapshot
from cli.input.against import Against, AgainstType
from cli.input.options import EngineOptions, kubeconfig, output
from cli.input.options import engine as engine_options
from cli.input.snapshot import Names
from cli.output import emit, json_text
from cli.report.simulations.beside import Pending
from cli.watching.again import watchable
from policies.model.printing import plain
from reconciler.api.pending import Row, homeless, item, local_rows, rows
from scheduling.world.world import World

_EMPTY = "no pending workloads"


@click.command()
@watchable
@click.argument("queue", metavar="[CLUSTERQUEUE | NS/LOCALQUEUE | QUEUE]", default="")
@click.option(
    "--against",
    type=AgainstType(),
    default="cluster",
    show_default=True,
    help="Where the queues are: a cluster as it is now, or files:DIR, simulated until nothing moves.",
)
@kubeconfig
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="List this many of each queue, from its head.",
)
@output
@engine_options
def pending(
    queue: str, against: Against, kubeconfig: str | None, limit: int, output: str, engine: EngineOptions
) -> None:
    """List the pending workloads of CLUSTERQUEUE, of the LocalQueue NS/LOCALQUEUE, or of all queues.

    Also what waits in the queues of Volcano and of YuniKorn, or at and below one of them; a snapshot has no such work.

    \b
    Examples:
      quotree pending
      quotree pending research
      quotree pending ml/main -o json
      quotree pending --watch
    """
    found = snapshot.take(against, kubeconfig, engine)
    others = Pending(found.others, queue)
    of_others = others.named and queue not in found.world.queues.pending
    queues = [] if of_others else list(_queues(found.world, queue, limit))
    if output == "json":
        emit(json_text({**_json(queues), **others.as_json()}))
    else:
        emit("\n".join([*_text(found.names, queues), *others.lines()]) or _EMPTY)
    click.get_current_context().exit(found.exit)


@dataclass(frozen=True, slots=True)
class _Queue:
    """The pending workloads of a queue: `shown` of `count`. `kind` is empty for those that no ClusterQueue has."""

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
        if in_no_queue := homeless(world):
            yield _Queue("", "", in_no_queue[:limit], len(in_no_queue))


def _cluster_queue(world: World, name: str, limit: int) -> _Queue:
    return _Queue("ClusterQueue", name, rows(world, name, 0, limit), len(world.queues.pending[name]))


def _local_queue(world: World, name: str, limit: int) -> _Queue:
    if name not in world.queues.local_queues:
        raise Misused(f"there is no LocalQueue {name}; for a ClusterQueue write its name alone")
    return _Queue("LocalQueue", name, local_rows(world, name, 0, limit), sum(1 for _ in world.queues.waiting_at(name)))


def _json(queues: list[_Queue]) -> dict[str, Any]:
    items = [
        {"kind": each.kind, "name": each.name, "pending": each.count, "items": list(map(item, each.shown))}
        for each in queues
    ]
    return {"apiVersion": "quotree.dev/v1alpha1", "kind": "PendingWorkloads", "queues": items}


def _text(names: Names, queues: list[_Queue]) -> Iterator[str]:
    for each in queues:
        queue = f"{each.kind} {each.name}" if each.kind else "in no ClusterQueue"
        yield plain(f"{queue}: {each.count} pending" if each.count else f"{queue}: {_EMPTY}")
        yield from (f"  {plain(_line(names, each.kind, row))}" for row in each.shown)
        if each.count > len(each.shown):
            yield f"  and {each.count - len(each.shown)} more"


def _line(names: Names, kind: str, row: Row) -> str:
    job = names.job(row.workload.key)
    text = f"{job}, priority {row.workload.priority}: {row.reason}: {row.message}"
    if row.place is None or row.place_in_local is None:
        return text
    if kind == "LocalQueue":
        return f"{row.place_in_local + 1:>3}  {text} (number {row.place + 1} of its ClusterQueue)"
    return f"{row.place + 1:>3}  {text}"
