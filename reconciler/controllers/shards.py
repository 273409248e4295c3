"""Hands ClusterQueues over to the part that the root of their tree names, and requests those that name this part."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from reconciler.controllers.queue_status import RESOURCES
from reconciler.core.controller import Busy, Controller, WakeAt, Wanted
from reconciler.core.records import WORKLOAD, Records
from reconciler.objects.moments import whole_second
from reconciler.objects.observed import Key
from reconciler.objects.stored import Stored
from reconciler.objects.wanted import KUEUE_VERSION, WantedWrite, refer_to
from reconciler.shards.claims import TreeClaim, claim_patch, next_claim
from reconciler.shards.partition import PartitionedTree, TreePartition
from scheduling.objects.times import SECOND
from scheduling.objects.workload import Workload
from scheduling.quota.touched import CLUSTER_QUEUE

_AT_ONCE = 250
"""How many claims are looked at in one turn."""
_RETRY_AFTER = SECOND
"""After this time a part requests a ClusterQueue again. Its holder may have dropped the request, because its cache had
another shape of the tree."""


class ShardsController(Controller):
    """Changes claims. Each decision uses the stored claim, and its write is bound to that version."""

    def __init__(self, partition: TreePartition, records: Records) -> None:
        self._partition = partition
        self._records = records
        self._requested_until: dict[str, int] = {}

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        """Change the claims that are due.

        A claim stays due, and is looked at in each turn, until its write is observed.
        """
        del busy  # it includes objects of other parts, and a request is written to such an object
        idle: dict[int, bool] = {}
        for name in [*islice(self._partition.due, _AT_ONCE)]:
            tree, key = self._partition.tree_of(name), (CLUSTER_QUEUE, name)
            if tree is None or self._records.busy(key, now):
                continue
            if id(tree) not in idle:
                idle[id(tree)] = self._idle(tree)
            before = self._partition.claims[name]
            after = next_claim(before, tree.wanted, self._partition.me, idle=idle[id(tree)])
            if after is not None:
                yield from self._write(key, before, after, now)

    def _write(self, key: Key, before: TreeClaim, after: TreeClaim, now: int) -> Iterator[Wanted]:
        name = key[1]
        if after.requester:
            until = self._requested_until.get(name, 0)
            if now < until:
                yield WakeAt(key, until)
                return
            self._requested_until[name] = now + _RETRY_AFTER
        else:
            self._requested_until.pop(name, None)
        stored = self._records.detail(key)
        if isinstance(stored, Stored):
            patch = claim_patch(RESOURCES[CLUSTER_QUEUE], name, stored, after, whole_second(now))
            about = refer_to(KUEUE_VERSION, CLUSTER_QUEUE, name, stored)
            yield WantedWrite(key, patch, about, *_news(before, after))

    def _idle(self, tree: PartitionedTree) -> bool:
        """Whether no write for the tree's work is in flight. Such a write could be executed after the handover."""
        ours = frozenset(tree.queues)
        flying = (name for kind, name in self._records.in_flight if kind == WORKLOAD)
        return not any(ours.intersection(self._queues_of(name)) for name in flying)

    def _queues_of(self, name: str) -> Iterator[str]:
        """The ClusterQueues of the Workload: as stored, as decided, and as in the request in flight."""
        record, stored = self._records.find((WORKLOAD, name)), self._records.workload(name)
        versions: list[Workload | None] = [stored.value if stored is not None else None]
        if record is not None:
            versions += [record.decided, record.in_flight.decided if record.in_flight is not None else None]
        for each in versions:
            if each is not None:
                yield self._partition.queue_of(each)
                yield each.admission.cluster_queue if each.admission is not None else ""


def _news(before: TreeClaim, after: TreeClaim) -> tuple[str, str]:
    """The reason and the message of the Event; empty if the ClusterQueue is only requested."""
    if before.part == after.part:
        return "", ""
    message = f"Part {before.part} hands over to part {after.part}, which the root of the tree names"
    return "HandedOver", message
