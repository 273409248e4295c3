"""Why there is no room: which queue, which resource, and how much is short."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shortage:
    """At `queue` the limit is exceeded by `short`. All amounts are in the unit of the resource.

    `used` is the current usage, including reservations; `requested` comes on top.
    """

    queue: str
    resource: str
    used: int
    requested: int
    limit: float

    @property
    def short(self) -> float:
        return self.used + self.requested - self.limit
