"""Fencing after a change of leader: late writes of the previous leader must not give the same quota away twice.

A process that was stopped, or whose connection hangs, may have sent a write that arrives long after its Lease has
expired. The write is bound to a resource version, so it cannot overwrite a later write of the same object. But it could
give quota to a Workload, or to a Pod at a gate, after another one got that quota.

So before the new leader decides anything, it lists these objects again, and writes each that might fit into the free
quota once. After that a late write to such an object fails with a conflict. A late write to any other object gives no
quota, because there was not enough.
"""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.core.controller import Controller
from reconciler.core.records import WORKLOAD, Records
from reconciler.core.writes import PendingWrites
from reconciler.objects.observed import Key, Observed
from reconciler.shards.partition import TreePartition
from scheduling.world.room import may_fit
from scheduling.world.world import World


class LeaderFencing:
    """Decisions are not allowed from `begin` until `done` returns true."""

    def __init__(
        self,
        world: World,
        records: Records,
        writes: PendingWrites,
        partition: TreePartition,
        controllers: Sequence[Controller],
    ) -> None:
        self._controllers = controllers
        self._partition = partition
        self._world = world
        self._records = records
        self._writes = writes
        self._late_writes = False
        self._open: dict[Key, Observed[object]] | None = {}
        self._sent: set[Key] = set()

    def begin(self, late_writes: bool) -> None:
        """This process leads. `late_writes`: whether writes of the previous leader may still arrive."""
        self._late_writes = late_writes
        self._open = None

    def done(self) -> bool:
        """Whether decisions may be made. May be called only when all objects are known."""
        if self._open is None:
            if self._undecided():
                return False
            self._open, self._sent = self._endangered(), set()
        for key, stored in [*self._open.items()]:
            record = self._records.find(key)
            if record is not None and record.in_flight is not None:
                continue
            if key in self._sent or self._records.at(key) is not stored:
                del self._open[key]
            else:
                self._writes.fence(stored)
                self._sent.add(key)
        return not self._open

    def _undecided(self) -> bool:
        """Whether a decision from an earlier time as the leader still counts as usage, and so hides free quota."""
        flights = (self._records.record(key).in_flight for key in self._records.in_flight)
        return any(flight is not None and flight.decided is not None for flight in flights)

    def _endangered(self) -> dict[Key, Observed[object]]:
        """The objects that a late write of a process of this part could give quota to.

        A Workload that backs off is in no queue, so it counts as one that may fit.
        """
        if not self._late_writes:
            return {}
        resting = (name for kind, name in self._records.backing_off if kind == WORKLOAD)
        names = (*(each.key for each in may_fit(self._world)), *resting)
        found = (stored for name in names if (stored := self._records.workload(name)) is not None)
        ours = (each for each in found if self._partition.holds(self._partition.queue_of(each.value)))
        waiting = (key for controller in self._controllers for key in controller.may_get_quota())
        others = (at for key in waiting if (at := self._records.at(key)) is not None)
        return {each.key: each for each in (*ours, *others)}
