"""Changes that bypassed the webhook: their number, and how long it took to undo them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reconciler.objects.observed import Key


@dataclass(slots=True)
class Undone:
    """For one kind of object and one way: the number of undone changes, and the total nanoseconds until then."""

    count: int = 0
    nanoseconds: int = 0


class Bypasses:
    """`undone`: by the kind of the object and the way. Moments are in nanoseconds."""

    def __init__(self) -> None:
        self.undone: dict[tuple[str, str], Undone] = {}
        self._standing: dict[tuple[Key, str], int] = {}

    def seen(self, key: Key, way: str, now: int) -> None:
        self._standing.setdefault((key, way), now)

    def end(self, key: Key, way: str, now: int) -> None:
        """The change has been undone, if it was seen at all."""
        since = self._standing.pop((key, way), None)
        if since is not None:
            found = self.undone.setdefault((key[0], way), Undone())
            found.count += 1
            found.nanoseconds += now - since

    def ways(self, key: Key) -> Iterator[str]:
        """The changes of the object that are not undone yet."""
        yield from [way for each, way in self._standing if each == key]

    def oldest(self) -> int | None:
        """The moment at which the oldest change that is not undone was seen."""
        return min([*self._standing.values()], default=None)

    def __len__(self) -> int:
        """The number of changes that are not undone."""
        return len(self._standing)
