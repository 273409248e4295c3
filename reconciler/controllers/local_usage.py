"""The recent usage of LocalQueues for admission fair sharing. It is sampled regularly and stored in their status.

After a restart the sampling continues with the stored amounts. The time without a process is not counted, so usage does
not decay in it. Source: Kueue v0.19, pkg/controller/core/localqueue_controller.go; KEP-4136.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from policies.dialects.reading import mapping
from policies.model.quantity import BadQuantity, Quantity
from reconciler.core.controller import Busy, Controller, WaitFor, Wanted
from reconciler.objects.moments import DueNames, whole_second
from reconciler.objects.observed import Key, Observed
from reconciler.objects.watched import LOCAL_QUEUE_VIEW
from reconciler.shards.partition import WORK_AT
from scheduling.objects import times
from scheduling.world.penalties import sampled
from scheduling.world.world import World

_NANO = 10**9


def remember(world: World, key: str, status: Mapping[str, Any]) -> None:
    """Restore the usage from the status of a LocalQueue (`namespace/name`), unless more recent usage is known."""
    share = mapping(mapping(status.get("fairSharing")).get("admissionFairSharingStatus"))
    at = times.parse(share.get("lastUpdate"))
    known = world.consumption.record(key) if world.consumption is not None else None
    if world.consumption is not None and at and (known is None or known.at < at):
        world.consumption.put(key, _read(mapping(share.get("consumedResources"))), at)


def begin(world: World, key: str, now: int) -> None:
    """Begin to sample in this process. The usage that is known counts as sampled now."""
    if world.consumption is not None:
        known = world.consumption.record(key)
        world.consumption.put(key, known.consumed if known is not None else {}, now)
        world.touched.pending(key)


def sample(world: World, key: str, now: int) -> int | None:
    """Take a sample if one is due. Returns the nanoseconds until the next one; None if the usage is not sampled.

    Usage is not sampled while the LocalQueue or its ClusterQueue admits nothing.
    """
    if world.consumption is None or not followed(world, key):
        return None
    left = world.consumption.next_sample(key, now)
    if not left:
        queue = world.state.queues.get(world.queues.local_queues[key].cluster_queue)
        world.consumption.sample(key, sampled(world.consumption, queue, key) if queue is not None else {}, now)
        world.touched.pending(key)
        left = world.consumption.next_sample(key, now)
    return left


def followed(world: World, key: str) -> bool:
    """Whether the LocalQueue and its ClusterQueue admit anything."""
    local = world.queues.local_queues.get(key)
    return local is not None and not local.stopped and world.can_admit(local.cluster_queue).active


def admission_share(world: World, key: str, before: Mapping[str, Any] | None = None) -> Mapping[str, Any] | None:
    """The `status.fairSharing` of a LocalQueue; None before its first sample. `before`: the stored value.

    A LocalQueue has no weighted share of a Cohort, so that field is 0. While usage is not sampled, the stored value
    stays.
    """
    if world.consumption is not None and not followed(world, key):
        return before
    record = world.consumption.record(key) if world.consumption is not None else None
    if record is None:
        return None
    consumed = {resource: str(Quantity.of_nano(int(amount * _NANO))) for resource, amount in record.consumed.items()}
    share = {"consumedResources": consumed, "lastUpdate": times.rfc3339(record.at)}
    return {"weightedShare": 0, "admissionFairSharingStatus": share}


def _read(values: Mapping[str, Any]) -> dict[str, Decimal]:
    """Read stored amounts. An invalid quantity counts as 0; the next sample corrects it."""
    found = {}
    for resource, value in values.items():
        try:
            found[resource] = Decimal(Quantity.parse(value).nano) / _NANO
        except BadQuantity:
            found[resource] = Decimal(0)
    return found


class UsageController(Controller):
    """Samples usage. `now` is in nanoseconds in all methods.

    `StatusController` writes the sample to the status. Only the leader samples; a standby reads what the leader wrote.
    """

    watched = (LOCAL_QUEUE_VIEW,)

    def __init__(self, world: World) -> None:
        self._world = world
        self._moments = DueNames()
        self._begun: set[str] = set()

    def observe(self, observed: Observed[object]) -> None:
        key = observed.key[1]
        if observed.value is None:
            self._moments.drop(key)
            self._begun.discard(key)
            return
        if observed.stored is not None:
            remember(self._world, key, observed.stored.status)
        if key not in self._moments:
            self._moments.set(key, 0)

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        """Take the samples that are due for LocalQueues of this part. This controller writes nothing itself."""
        now = whole_second(now)
        for key in self._moments.due(now):
            if busy(WORK_AT, key):
                self._begun.discard(key)  # another part samples it and stores the usage in the status
                yield WaitFor((LOCAL_QUEUE_VIEW.kind, key), (WORK_AT, key))
                continue
            if key not in self._begun and followed(self._world, key):
                self._begun.add(key)
                begin(self._world, key, now)
            left = sample(self._world, key, now)
            if left is None:
                self._moments.drop(key)
            else:
                self._moments.set(key, now + left)

    def wake(self, item: Key) -> None:
        if item[1] in self._moments:
            self._moments.set(item[1], 0)
