"""Finds out whether Volcano's controller manager and scheduler run, from their Leases, their Pods, and their writes.

Volcano's manifests run the programs without leader election, so a missing Lease does not prove that they are down.
"""

from __future__ import annotations

from cluster.lease import LeaseClaim
from scheduling.objects.times import SECOND


class Leases:
    """The Leases with one name, by namespace. Times are in nanoseconds.

    The clocks of the holders are not used. A Lease counts as held for its duration from the first call of `held_until`
    after a renewal was observed, by the clock of this process.
    """

    def __init__(self) -> None:
        self._new: dict[str, LeaseClaim] = {}
        self._held: dict[str, tuple[LeaseClaim, int]] = {}

    def observe(self, key: str, lease: LeaseClaim | None) -> None:
        if lease is None or not lease.holder:
            self._new.pop(key, None)
            self._held.pop(key, None)
        elif key not in self._held or self._held[key][0] != lease:
            self._new[key] = lease

    def held_until(self, now: int) -> int:
        """When the last of the Leases expires, if none is renewed; 0 if none is held. Renewals observed since the last
        call count from `now`."""
        for key, lease in self._new.items():
            self._held[key] = lease, now
        self._new.clear()
        return max((since + int(lease.duration * SECOND) for lease, since in self._held.values()), default=0)


FOREVER = 1 << 62
"""A time in nanoseconds that is never reached."""
QUIET = 60 * SECOND
"""How long a program that the configuration declares stopped counts as running after a new write, in nanoseconds."""


class VolcanoProgram:
    """One of Volcano's programs. Times are in nanoseconds.

    `name`: its name in messages.
    `replaced`: whether the configuration declares it stopped. Then only writes after the first decision count, each for
    QUIET.

    Private state:
    `_last_writes`: when the program wrote each queue last.
    `_its_queues`: the queues that the program wrote last. If the times are equal, the program counts as the last
    writer.
    `_latest_write`: the queue and the time of its last write since the first decision.
    `_wrote_again`: whether that write was not considered yet.
    `_counts_until`: until when that write makes the program count as running.
    `_started`: whether a decision was made. Writes that were observed before may be old.
    """

    def __init__(self, name: str, *, replaced: bool) -> None:
        self.leases = Leases()
        self.name = name
        self._replaced = replaced
        self._pods: dict[str, None] = {}
        self._last_writes: dict[str, str] = {}
        self._its_queues: dict[str, None] = {}
        self._latest_write, self._wrote_again = ("", ""), False
        self._counts_until = 0
        self._started = False

    def observe_pod(self, key: str, *, runs: bool) -> None:
        """Process the Pod `namespace/name`. `runs`: whether the Pod runs the program."""
        if runs and not self._replaced:
            self._pods[key] = None
        else:
            self._pods.pop(key, None)

    def observe_write(self, queue: str, at: str, ours: str = "") -> None:
        """The program last wrote the queue at `at`, and this reconciler at `ours`; empty for never."""
        if at > self._last_writes.get(queue, ""):
            self._last_writes[queue] = at
            if self._started:
                self._latest_write, self._wrote_again = (queue, at), True
        if at and at >= ours and not self._replaced:
            self._its_queues[queue] = None
        else:
            self._its_queues.pop(queue, None)

    def drop_queue(self, queue: str) -> None:
        self._last_writes.pop(queue, None)
        self._its_queues.pop(queue, None)

    def runs_until(self, now: int) -> int:
        """When the program counts as stopped without new evidence; in the past if it is stopped now, FOREVER if time
        alone does not change it."""
        self._started = True
        if self._wrote_again:
            self._counts_until = now + QUIET if self._replaced else FOREVER
            self._wrote_again = False
        if self._pods or self._its_queues:
            return FOREVER
        return max(self.leases.held_until(now), self._counts_until)

    def sign(self, now: int) -> str:
        """The evidence that the program runs, as a sentence. Only for a program that runs."""
        if self._pods:
            return f"Pod {next(iter(self._pods))} runs {self.name}"
        if self.leases.held_until(now) > now:
            return f"{self.name} renews its Lease"
        queue, at = self._latest_write
        if not queue:
            queue = next(iter(self._its_queues), "")
            at = self._last_writes.get(queue, "")
        return f"{self.name} wrote queue {queue} at {at}"
