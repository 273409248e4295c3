"""Finds out whether Volcano's own programs run, from their Leases, their Pods, and their writes.

Volcano's manifests run the programs without leader election, so a missing Lease does not prove that they are down.
"""

from __future__ import annotations

from reconciler.controllers.volcano.kinds import LeaseObject
from scheduling.objects.times import SECOND


class Leases:
    """The Leases with one name, by namespace. Times are in nanoseconds.

    The clocks of the holders are not used. A Lease counts as held for its duration, from the time at which its last
    renewal was observed, by our clock.
    """

    def __init__(self) -> None:
        self._new: dict[str, LeaseObject] = {}
        self._held: dict[str, tuple[LeaseObject, int]] = {}

    def observe(self, key: str, lease: LeaseObject | None) -> None:
        if lease is None or not lease.holder:
            self._new.pop(key, None)
            self._held.pop(key, None)
        elif key not in self._held or self._held[key][0] != lease:
            self._new[key] = lease

    def held_until(self, now: int) -> int:
        """When the last of the Leases expires, if none is renewed. If no process runs, this is in the past."""
        for key, lease in self._new.items():
            self._held[key] = lease, now
        self._new.clear()
        return max((since + lease.seconds * SECOND for lease, since in self._held.values()), default=0)


ALWAYS = 1 << 62
"""A time in nanoseconds that never comes."""
QUIET = 60 * SECOND
"""How long a program counts as running after one of its writes was observed, in nanoseconds."""


class VolcanoProgram:
    """One of Volcano's programs. Times are in nanoseconds.

    `name`: its name in messages.
    `replaced`: whether the configuration says that it is stopped. Then its earlier writes do not count.

    Private state:
    `_last_writes`: when the program wrote each queue last.
    `_its_queues`: the queues that the program wrote later than this reconciler.
    `_counts_until`: until then the program counts as running because of a write, in nanoseconds.
    """

    def __init__(self, name: str, *, replaced: bool) -> None:
        self.leases = Leases()
        self.name = name
        self._replaced = replaced
        self._pods: dict[str, None] = {}
        self._last_writes: dict[str, str] = {}
        self._its_queues: dict[str, None] = {}
        self._latest_queue, self._wrote_again = "", False
        self._counts_until = 0
        self._started = False

    def observe_pod(self, key: str, *, runs: bool) -> None:
        """Process the Pod `namespace/name`. `runs`: whether the Pod runs the program."""
        if runs:
            self._pods[key] = None
        else:
            self._pods.pop(key, None)

    def observe_write(self, queue: str, at: str, ours: str = "") -> None:
        """The program last wrote the queue at `at`, and this reconciler at `ours`; empty for never."""
        if at > self._last_writes.get(queue, ""):
            self._last_writes[queue] = at
            if self._started:
                self._latest_queue, self._wrote_again = queue, True
        if at and at >= ours:
            self._its_queues[queue] = None
        else:
            self._its_queues.pop(queue, None)

    def drop_queue(self, queue: str) -> None:
        self._last_writes.pop(queue, None)
        self._its_queues.pop(queue, None)

    def runs_until(self, now: int) -> int:
        """When the program counts as stopped, if nothing new shows that it runs."""
        self._started = True
        if self._wrote_again:
            self._counts_until = now + QUIET if self._replaced else ALWAYS
            self._wrote_again = False
        if self._pods or (self._its_queues and not self._replaced):
            return ALWAYS
        return max(self.leases.held_until(now), self._counts_until)

    def sign(self, now: int) -> str:
        """What shows that the program runs, as a sentence."""
        if self._pods:
            return f"Pod {next(iter(self._pods))} runs {self.name}"
        if self.leases.held_until(now) > now:
            return f"{self.name} renews its Lease"
        queue = self._latest_queue or next(iter(self._its_queues), "")
        return f"{self.name} wrote queue {queue} at {self._last_writes.get(queue, '')}"
