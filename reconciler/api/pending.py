"""The workloads that wait in a queue, in order and with reasons, in the form of Kueue's visibility API and more.

Source: Kueue v0.19, apis/visibility/v1beta2 (PendingWorkloadsSummary).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from scheduling.cycle.cycle import try_alone
from scheduling.flavors.messages import amount_text
from scheduling.objects.amounts import Requests, total
from scheduling.objects.inadmissible_reasons import INADMISSIBLE, PENDING, PENDING_EVALUATION, SUSPENDED, WAITING
from scheduling.objects.requests import total_requests
from scheduling.objects.times import rfc3339
from scheduling.objects.workload import QUOTA_RESERVED, Workload
from scheduling.queues.pending import PendingEntry
from scheduling.visibility.explained import brief
from scheduling.visibility.explanation import Consider, TreeCache, inactive_message
from scheduling.visibility.sentence import CauseOnlyCache, missing_queue
from scheduling.visibility.workloads import waits
from scheduling.world.decisions import Wait
from scheduling.world.world import World

MOST = 100_000
"""The most workloads of one response."""
_MOST_TRIED = 20
"""The most scheduling attempts for one piece of a list, to explain workloads without a known reason."""
_Attempts: TypeAlias = dict[tuple[str, Hashable, tuple[str, ...]], Wait | None]
"""The results of these attempts, by ClusterQueue, scheduling hash and names of pod sets.

Equivalent workloads share one attempt, but a message names the pod sets.
"""
WAITS_ITS_TURN = "It waits for its turn"
_NOT_TRIED = (PENDING_EVALUATION, WAITS_ITS_TURN)
_FEW = (PENDING, INADMISSIBLE, WAITING)
"""Condition reasons that have several causes."""


@dataclass(frozen=True, slots=True)
class PendingRow:
    """A workload that waits.

    `requests`: what it waits for, by resource.
    `reason`, `message`: why it waits.
    `place`, `place_in_local`: its place in the ClusterQueue and in the LocalQueue, from 0; None without a ClusterQueue.
    `set_aside`: whether it is inadmissible, and tried again only after a change.
    `cause`: see `brief` in `scheduling.visibility.explained`; empty if it was not requested.
    """

    workload: Workload
    requests: Requests
    reason: str
    message: str
    place: int | None = None
    place_in_local: int | None = None
    set_aside: bool = False
    cause: str = ""


def rows(world: World, queue: str, offset: int, limit: int, now: int | None = None) -> list[PendingRow]:
    """The rows of a ClusterQueue from the place `offset` on. Raises KeyError if the ClusterQueue does not exist.

    `now`: nanoseconds; None omits the causes.
    """
    names = world.queues.pending[queue].positions().names(offset, limit)
    return list(_rows(world, queue, names, range(offset, offset + len(names)), now, {}))


def named_rows(world: World, names: Iterable[str], now: int) -> list[PendingRow]:
    """The rows of these workloads (`namespace/name`), as far as they wait, by ClusterQueue."""
    at: dict[str, list[str]] = {}
    nowhere: list[Workload] = []
    for name in dict.fromkeys(names):
        workload = world.workloads.get(name)
        if workload is None or not workload.queueable or name in world.assumed:
            continue
        queue = world.queues.queue_of(workload)
        if queue is None:
            nowhere.append(workload)
        elif world.queues.pending[queue].get(name) is not None:
            at.setdefault(queue, []).append(name)
    found, attempts = _without_queue(world, nowhere, now), _Attempts()
    for queue, mine in at.items():
        places = world.queues.pending[queue].positions()
        found += _rows(world, queue, mine, [places.position(name) - 1 for name in mine], now, attempts)
    return found


def local_rows(world: World, local: str, offset: int, limit: int, now: int | None = None) -> list[PendingRow]:
    """The rows of a LocalQueue (`namespace/name`). Raises KeyError if it does not exist and no workload names it."""
    waiting = list(world.queues.waiting_at(local))
    if not waiting and local not in world.queues.local_queues:
        raise KeyError(local)
    if waiting and world.queues.queue_of(waiting[0]) is None:
        return _without_queue(world, sorted(waiting, key=lambda each: each.key)[offset : offset + limit], now)
    queue = world.queues.local_queues[local].cluster_queue
    if queue not in world.queues.pending:
        return []
    places = world.queues.pending[queue].positions()
    names = places.names(offset, limit, local)
    return list(_rows(world, queue, names, (places.position(name) - 1 for name in names), now, {}))


def without_queue(world: World) -> list[PendingRow]:
    """The workloads that wait in no ClusterQueue, sorted by name. This reads every workload."""
    idle = (each for each in world.workloads.values() if each.queueable and each.key not in world.assumed)
    nowhere = [each for each in idle if world.queues.queue_of(each) is None]
    return _without_queue(world, sorted(nowhere, key=lambda each: each.key))


def _without_queue(world: World, waiting: Iterable[Workload], now: int | None = None) -> list[PendingRow]:
    blockers = ((workload, world.queues.blocker(workload)) for workload in waiting)
    return [
        PendingRow(
            workload,
            _requests(world, workload),
            each.reason if each else "",
            missing_queue(world, workload) or (each.message if each else ""),
            cause="" if now is None else _cause(world, workload.key, now, CauseOnlyCache()),
        )
        for workload, each in blockers
    ]


def _cause(
    world: World, key: str, now: int, trees: TreeCache, position: int | None = None, consider: Consider | None = None
) -> str:
    found = waits(world, key, now, position=position, consider=consider, trees=trees)
    return brief(world, found, rfc3339) if found is not None else ""


def _rows(
    world: World, queue: str, names: Iterable[str], places: Iterable[int], now: int | None, attempts: _Attempts
) -> Iterator[PendingRow]:
    pending, tried, trees = world.queues.pending[queue], _Tried(world, queue, attempts), CauseOnlyCache()
    positions = pending.positions()
    for name, place in zip(names, places, strict=True):
        entry = pending.get(name)
        if entry is not None:
            workload = world.workloads[name]
            local = positions.position_in(workload.local_queue, name) - 1
            cause = "" if now is None else _cause(world, name, now, trees, place + 1, tried.attempt)
            asked = _requests(world, entry.workload)
            yield PendingRow(workload, asked, *tried.why(entry), place, local, not pending.is_active(name), cause)


def _requests(world: World, workload: Workload) -> Requests:
    return total(each.requests for each in total_requests(workload, world.counting))


class _Tried:
    """Explains why the workloads of one ClusterQueue wait. Attempts are made once, and shared."""

    def __init__(self, world: World, queue: str, attempts: _Attempts) -> None:
        self._world, self._queue, self._attempts = world, queue, attempts
        self._inactive = inactive_message(world.state.queues[queue])

    def why(self, entry: PendingEntry) -> tuple[str, str]:
        """The reason: from the last cycle, from the condition if that is specific, or else from an attempt."""
        if self._inactive:
            return SUSPENDED, self._inactive
        wait = self._world.last_attempt(entry.key)
        if wait is not None:
            return wait.reason, wait.message
        condition = entry.workload.conditions.get(QUOTA_RESERVED)
        known = condition is not None and condition.status == "False" and bool(condition.message)
        left = (condition.reason, condition.message) if condition is not None and known else _NOT_TRIED
        if known and left[0] not in _FEW:
            return left
        found = self.attempt(self._world, self._queue, entry)
        if found is not None:
            return found.reason, found.message
        return _NOT_TRIED if _alike(self._queue, entry) in self._attempts else left

    def attempt(self, world: World, queue: str, entry: PendingEntry | None) -> Wait | None:
        """The result of trying the workload alone, or that of an equivalent one. See `Consider`."""
        if entry is None:
            return None
        alike = _alike(queue, entry)
        if alike not in self._attempts and len(self._attempts) < _MOST_TRIED:
            self._attempts[alike] = try_alone(world, queue, entry)
        return self._attempts.get(alike)


def _alike(queue: str, entry: PendingEntry) -> tuple[str, Hashable, tuple[str, ...]]:
    return queue, entry.scheduling_hash, entry.workload.pod_set_names


def summary(found: Iterable[PendingRow], remaining: int = 0) -> dict[str, Any]:
    """The response of Kueue's visibility API, with `requests`, `reason`, `message`, `cause` and `setAside` added.

    `remaining`: how many more workloads wait after these.
    """
    return {
        "apiVersion": "visibility.kueue.x-k8s.io/v1beta2",
        "kind": "PendingWorkloadsSummary",
        "metadata": {"remainingItemCount": remaining} if remaining else {},
        "items": list(map(item, found)),
    }


def item(row: PendingRow) -> dict[str, Any]:
    workload = row.workload
    owners = [
        {"apiVersion": each.api_version, "kind": each.kind, "name": each.name, "uid": each.uid}
        for each in workload.owners
    ]
    meta = {"name": workload.name, "namespace": workload.namespace, "creationTimestamp": rfc3339(workload.created)}
    return {
        "metadata": {**meta, **({"ownerReferences": owners} if owners else {})},
        "priority": workload.priority,
        "localQueueName": workload.queue,
        **({} if row.place is None else {"positionInClusterQueue": row.place}),
        **({} if row.place_in_local is None else {"positionInLocalQueue": row.place_in_local}),
        "requests": {resource: amount_text(resource, each) for resource, each in row.requests.items() if each},
        "reason": row.reason,
        "message": row.message,
        **({"cause": row.cause} if row.cause else {}),
        "setAside": row.set_aside,
    }
