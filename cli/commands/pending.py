"""List the pending workloads of each queue, with position and reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import click

from cli.exits import EXIT_CODES_OF_SIMULATIONS, AccessDenied, Misused
from cli.input import jobs_without_workload, snapshot
from cli.input.against import Against
from cli.input.login import ClusterLogin
from cli.input.options import EngineOptions, against_of, namespaces, output
from cli.input.options import engine as engine_options
from cli.input.reconciler_api import Server
from cli.input.reconciler_api import options as reconciler_options
from cli.input.visibility import Ask, local_queues, reconciler_of, reporting_bad_answers
from cli.output import emit, json_text, note
from cli.report.explanations import job_text
from cli.report.simulations.other_projects import PendingWork
from cli.watching import watchable
from cluster.jobs_without_workload import JobWithoutWorkload
from policies.model.printing import plain
from policies.model.suggestion import close
from reconciler.api.pending import MOST, PendingRow, item, local_rows, rows, without_queue
from scheduling.visibility.as_json import owners_job
from scheduling.world.world import World

_EMPTY = "no pending workloads"
Item = dict[str, Any]
"""An entry of PendingWorkloadsSummary."""


@click.command(epilog=EXIT_CODES_OF_SIMULATIONS)
@watchable
@click.argument("queue", metavar="[CLUSTERQUEUE | NS/LOCALQUEUE | QUEUE]", default="")
@against_of(
    "cluster", "The source: a cluster as it is now, snapshot:FILE, or files:DIR, simulated until nothing changes."
)
@namespaces
@reconciler_options
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="List at most this many workloads of each queue, from its head.",
)
@output
@engine_options
def pending(
    queue: str,
    against: Against,
    namespace: str | None,
    everywhere: bool,
    reconciler: Server | None,
    limit: int,
    output: str,
    engine: EngineOptions,
) -> None:
    """List the pending workloads of CLUSTERQUEUE, of the LocalQueue NS/LOCALQUEUE, or of all queues.

    With -n, QUEUE is a LocalQueue of that namespace; without QUEUE all LocalQueues of the namespace are listed. If you
    may not read the whole cluster, or with --reconciler, the reconciler answers. It lists one ClusterQueue, or the
    LocalQueues of one namespace: by default that of the context.
    The list includes jobs that have no Workload because their WorkloadPriorityClass does not exist. It also includes
    work that waits in the queues of Volcano and YuniKorn; name a queue to see only the work in it and its descendants.
    A snapshot contains neither.

    \b
    Examples:
      quotree pending
      quotree pending research
      quotree pending -n ml
      quotree pending ml/main -o json
      quotree pending --watch
    """
    if namespace is not None and queue:
        in_namespace, _, name = queue.rpartition("/")
        if in_namespace not in ("", namespace):
            raise Misused(f"{queue} is not in the namespace {namespace} of -n; leave -n or {in_namespace}/ out")
        queue = f"{namespace}/{name}"
    if reconciler is not None and against.kind != "cluster":
        raise Misused("--reconciler answers for a cluster, not for files or snapshots; leave it out")
    if reconciler is not None and everywhere and not queue:
        raise Misused("a reconciler lists one namespace or ClusterQueue; leave -A or --reconciler out, or name a queue")
    refused = None
    if reconciler is None:
        try:
            _print_from_world(queue, against, namespace, limit, output, engine)
            return
        except AccessDenied as error:
            if everywhere:
                raise
            refused = error
    with reconciler_of(against.login, reconciler, refused) as ask, reporting_bad_answers():
        queues = list(_from_reconciler(ask, against.login, queue, namespace, limit))
        if refused is not None and not queue and namespace is None:
            note(f"you may not read the whole cluster; only namespace {against.login.namespace()} is listed")
        jobs: list[JobWithoutWorkload] = []
        if not queue or "/" in queue:  # jobs of a ClusterQueue would need its LocalQueues of all namespaces
            in_namespace = queue.rpartition("/")[0] or namespace or against.login.namespace()
            jobs = _at_queue(queue, jobs_without_workload.of_cluster(against.login, in_namespace))
        if output == "json":
            emit(json_text({**_queues_json(queues), **_jobs_json(jobs)}))
        else:
            emit("\n".join([*_queue_lines(_owner_text, queues), *_job_lines(jobs)]) or _EMPTY)


def _print_from_world(
    queue: str, against: Against, namespace: str | None, limit: int, output: str, engine: EngineOptions
) -> None:
    """Read the cluster or the files, and print the pending work. Raises AccessDenied if the user may not read it."""
    found = snapshot.take(against, engine)
    others = PendingWork(found.others if namespace is None else None, queue)
    only_others = others.named and queue not in found.world.queues.pending  # a queue of Volcano or YuniKorn
    queues = [] if only_others else list(_queues(found.world, queue, namespace, limit, others.names))
    jobs = [] if only_others else _at_queue(queue, _read_jobs(found, against, queue, namespace), found.world)

    def job(row: Item) -> str:
        return found.job(f"{row['metadata']['namespace']}/{row['metadata']['name']}")

    if output == "json":
        emit(json_text({**_queues_json(queues), **_jobs_json(jobs), **others.as_json()}))
    else:
        emit("\n".join([*_queue_lines(job, queues), *_job_lines(jobs), *others.lines()]) or _EMPTY)
    click.get_current_context().exit(found.exit)


@dataclass(frozen=True, slots=True)
class _Queue:
    """The pending workloads of a queue.

    `kind`: ClusterQueue or LocalQueue; empty for the workloads that are in no ClusterQueue.
    `shown`: the first of them, up to --limit.
    `count`: the number of all.
    """

    kind: str
    name: str
    shown: list[Item]
    count: int


def _queues(world: World, queue: str, namespace: str | None, limit: int, others: frozenset[str]) -> Iterator[_Queue]:
    """The named queue; without a name, the queues with pending workloads, and the workloads in no ClusterQueue.

    Raises Misused if the named queue does not exist. `others`: the queues of Volcano and YuniKorn.
    """
    if "/" in queue:
        yield _local_queue(world, queue, limit)
    elif queue:
        if queue not in world.queues.pending:
            known, otherwise = (*world.queues.pending, *others), "for a LocalQueue write NAMESPACE/NAME"
            kind = "queue" if others else "ClusterQueue"
            raise Misused(_missing_message(kind, queue, known, otherwise))
        yield _cluster_queue(world, queue, limit)
    elif namespace is not None:
        names = (name for name in sorted(world.queues.local_queues) if name.startswith(f"{namespace}/"))
        yield from (each for each in (_local_queue(world, name, limit) for name in names) if each.count)
    else:
        found = (_cluster_queue(world, name, limit) for name in sorted(world.queues.pending))
        yield from (each for each in found if each.count)
    if not queue:
        remaining = [row for row in without_queue(world) if _is_unlisted(world, row, namespace)]
        if remaining:
            yield _Queue("", "", list(map(item, remaining[:limit])), len(remaining))


def _is_unlisted(world: World, row: PendingRow, namespace: str | None) -> bool:
    """Whether a workload in no ClusterQueue is listed with no queue.

    Without a namespace only ClusterQueues are listed, with one its LocalQueues, also those without a ClusterQueue.
    """
    if namespace is None:
        return True
    return row.workload.namespace == namespace and row.workload.local_queue not in world.queues.local_queues


def _read_jobs(
    found: snapshot.LoadedSnapshot, against: Against, queue: str, namespace: str | None
) -> list[JobWithoutWorkload]:
    in_namespace = queue.rpartition("/")[0] or namespace
    if against.kind == "cluster":
        owners = {
            (owner.kind, each.namespace, owner.name) for each in found.world.workloads.values() for owner in each.owners
        }
        return jobs_without_workload.of_cluster(against.login, in_namespace, owners)
    return jobs_without_workload.of_files(found.left_out, in_namespace)


def _at_queue(queue: str, jobs: list[JobWithoutWorkload], world: World | None = None) -> list[JobWithoutWorkload]:
    """The jobs that name this LocalQueue, or a LocalQueue of this ClusterQueue; all jobs if no queue is given."""
    if not queue:
        return jobs
    locals_ = world.queues.local_queues if world is not None else {}
    named = {name for name, each in locals_.items() if each.cluster_queue == queue} | {queue}
    return [each for each in jobs if f"{each.namespace}/{each.queue}" in named]


def _jobs_json(jobs: list[JobWithoutWorkload]) -> dict[str, Any]:
    return {"withoutWorkload": [each.as_json() for each in jobs]} if jobs else {}


def _job_lines(jobs: list[JobWithoutWorkload]) -> Iterator[str]:
    if jobs:
        yield f"without a Workload: {len(jobs)} pending"
    for each in jobs:
        yield f"  {plain(f'{each.kind} {each.namespace}/{each.name} (LocalQueue {each.queue}): {each.message}')}"


def _missing_message(kind: str, name: str, known: Iterable[str], otherwise: str) -> str:
    near = close(name, known)
    return f"there is no {kind} {name}; " + (f"did you mean {near}?" if near else otherwise)


def _cluster_queue(world: World, name: str, limit: int) -> _Queue:
    shown = list(map(item, rows(world, name, 0, limit)))
    return _Queue("ClusterQueue", name, shown, len(world.queues.pending[name]))


def _local_queue(world: World, name: str, limit: int) -> _Queue:
    """A LocalQueue with its waiting work. Raises Misused if neither the queue nor work that names it exists."""
    try:
        shown = list(map(item, local_rows(world, name, 0, limit)))
    except KeyError:
        known = world.queues.local_queues
        raise Misused(_missing_message("LocalQueue", name, known, "for a ClusterQueue write its name alone")) from None
    return _Queue("LocalQueue", name, shown, sum(1 for _ in world.queues.waiting_at(name)))


def _from_reconciler(ask: Ask, login: ClusterLogin, queue: str, namespace: str | None, limit: int) -> Iterator[_Queue]:
    query = f"pendingworkloads?limit={min(limit, MOST)}"
    if queue and "/" not in queue:
        yield _answered("ClusterQueue", queue, ask(f"/v1/clusterqueues/{quote(queue, safe='')}/{query}"))
        return
    in_namespace, _, name = queue.rpartition("/")
    in_namespace = in_namespace or namespace or login.namespace()
    for local in [name] if name else local_queues(login, in_namespace):
        path = f"/v1/namespaces/{quote(in_namespace, safe='')}/localqueues/{quote(local, safe='')}/{query}"
        try:
            yield _answered("LocalQueue", f"{in_namespace}/{local}", ask(path))
        except Misused:
            if name:
                raise
            # it does not exist, and no pending workload names it


def _answered(kind: str, name: str, summary: dict[str, Any]) -> _Queue:
    items = summary["items"]
    return _Queue(kind, name, items, len(items) + summary.get("metadata", {}).get("remainingItemCount", 0))


def _queues_json(queues: list[_Queue]) -> dict[str, Any]:
    items = [{"kind": each.kind, "name": each.name, "pending": each.count, "items": each.shown} for each in queues]
    return {"apiVersion": "quotree.dev/v1alpha1", "kind": "PendingWorkloads", "queues": items}


def _owner_text(row: Item) -> str:
    meta = row["metadata"]
    owners = [(each["kind"], each["name"]) for each in meta.get("ownerReferences", ())]
    return job_text(owners_job(owners, meta["namespace"], meta["name"]))


def _queue_lines(job: Callable[[Item], str], queues: list[_Queue]) -> Iterator[str]:
    for each in queues:
        queue = f"{each.kind} {each.name}" if each.kind else "in no ClusterQueue"
        yield plain(f"{queue}: {each.count} pending" if each.count else f"{queue}: {_EMPTY}")
        yield from (f"  {plain(_row_line(job, each.kind, row))}" for row in each.shown)
        if each.count > len(each.shown):
            yield f"  and {each.count - len(each.shown)} more"


def _row_line(job: Callable[[Item], str], kind: str, row: Item) -> str:
    text = f"{job(row)}, priority {row['priority']}: {row['reason']}: {row['message']}"
    position, local_position = row.get("positionInClusterQueue"), row.get("positionInLocalQueue")
    if position is None or local_position is None:
        return text
    if kind == "LocalQueue":
        return f"{local_position + 1:>3}  {text} (number {position + 1} of its ClusterQueue)"
    return f"{position + 1:>3}  {text}"
