"""Whether Volcano's own processes are at work, by the Leases that they renew."""

from __future__ import annotations

from reconciler.controllers.volcano.kinds import LeaseObject
from scheduling.objects.times import SECOND


class Leases:
    """Those of one name, by namespace. A holder counts from the moment in which its renewal was looked at.

    Clocks are not compared: what matters is that the Lease changed, and how long ago by ours. Moments in nanoseconds.
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
        """When the last of them ends unless it is renewed; a moment that has passed where nobody is at work."""
        for key, lease in self._new.items():
            self._held[key] = lease, now
        self._new.clear()
        return max((since + lease.seconds * SECOND for lease, since in self._held.values()), default=0)
