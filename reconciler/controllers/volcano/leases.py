"""Whether Volcano's own processes are running, by the Leases that they renew."""

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
