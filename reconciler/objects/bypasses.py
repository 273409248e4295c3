"""What got round the webhook: how often, and how long it took until that was undone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reconciler.objects.observed import Key


@dataclass(slots=True)
class Undone:
    """Of one kind of object and one way round: how many were undone, and the nanoseconds that took in all."""

    count: int = 0
    nanoseconds: int = 0


class Bypasses:
    """`undone` is by the kind of the object and the way. Moments are in nanoseconds."""

    def __init__(self) -> None:
        self.undone: dict[tuple[str, str], Undone] = {}
        self._standing: dict[tuple[Key, str], int] = {}

    def seen(self, key: Key, way: str, now: int) -> None:
        self._standing.setdefault((key, way), now)

    def end(self, key: Key, way: str, now: int) -> None:
        """It is undone, if it was seen at all."""
        since = self._standing.pop((key, way), None)
        if since is not None:
            found = self.undone.setdefault((key[0], way), Undone())
            found.count += 1
            found.nanoseconds += now - since

    def ways(self, key: Key) -> Iterator[str]:
        """Those that are not undone yet."""
        yield from [way for each, way in self._standing if each == key]

    def oldest(self) -> int | None:
        """When the oldest that still stands was seen."""
        return min([*self._standing.values()], default=None)

    def __len__(self) -> int:
        """How many still stand."""
        return len(self._standing)
