"""A shortage: which queue, which resource, and how much is missing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shortage:
    """A request that would exceed the limit of `queue` by `short`. All amounts are in the unit of the resource.

    used: the current usage, including reservations, without `requested`.
    """

    queue: str
    resource: str
    used: int
    requested: int
    limit: float

    @property
    def short(self) -> float:
        return self.used + self.requested - self.limit
