"""Whether Volcano's own programs run: by the Leases that they renew, by their Pods, and by what they write.

Volcano's manifests run them without leader election, so a missing Lease does not prove that they are down.
"""

from __future__ import annotations

from reconciler.controllers.volcano.kinds import LeaseObject
from scheduling.objects.times import SECOND


class Leases:
    """The Leases of one name, by namespace. A holder counts from the moment at which its renewal was observed.

    Clocks are not compared. What matters is that the Lease changed, and how long ago by our clock. Moments are in
    nanoseconds.
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
        """The moment at which the last of the Leases expires unless it is renewed.

        It has passed if no process is running.
        """
        for key, lease in self._new.items():
            self._held[key] = lease, now
        self._new.clear()
        return max((since + lease.seconds * SECOND for lease, since in self._held.values()), default=0)


ALWAYS = 1 << 62
"""A moment, in nanoseconds, that never comes."""
QUIET = 60 * SECOND
"""How long a program counts as running after a write that was observed, in nanoseconds."""


class VolcanoProgram:
    """One of Volcano's programs. Moments are in nanoseconds.

    `name`: its name in messages.
    `replaced`: the configuration says that it is stopped. Then only what happens from now on shows that it runs.
    """

    def __init__(self, name: str, *, replaced: bool) -> None:
        self.leases = Leases()
        self.name = name
        self._replaced = replaced
        self._pods: dict[str, None] = {}
        self._wrote: dict[str, str] = {}
        self._former: dict[str, None] = {}
        self._last, self._fresh = "", False
        self._quiet_at = 0
        self._began = False

    def observe_pod(self, key: str, *, runs: bool) -> None:
        """A Pod `namespace/name`. `runs`: it runs the program."""
        if runs:
            self._pods[key] = None
        else:
            self._pods.pop(key, None)

    def observe_write(self, queue: str, at: str, ours: str = "") -> None:
        """The program wrote the queue for the last time at `at`, and this reconciler at `ours`; empty for never."""
        if at > self._wrote.get(queue, ""):
            self._wrote[queue] = at
            if self._began:
                self._last, self._fresh = queue, True
        if at and at >= ours:
            self._former[queue] = None
        else:
            self._former.pop(queue, None)

    def drop_queue(self, queue: str) -> None:
        self._wrote.pop(queue, None)
        self._former.pop(queue, None)

    def runs_until(self, now: int) -> int:
        """The moment at which the program counts as stopped, if nothing else shows that it runs."""
        self._began = True
        if self._fresh:
            self._quiet_at = now + QUIET if self._replaced else ALWAYS
            self._fresh = False
        if self._pods or (self._former and not self._replaced):
            return ALWAYS
        return max(self.leases.held_until(now), self._quiet_at)

    def sign(self, now: int) -> str:
        """What shows that it runs, in words."""
        if self._pods:
            return f"Pod {next(iter(self._pods))} runs {self.name}"
        if self.leases.held_until(now) > now:
            return f"{self.name} renews its Lease"
        queue = self._last or next(iter(self._former), "")
        return f"{self.name} wrote queue {queue} at {self._wrote.get(queue, '')}"
