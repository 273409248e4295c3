"""Counts changes that bypassed the webhook, and how long it took to undo them."""

from __future__ import annotations

from dataclasses import dataclass

from reconciler.objects.observed import Key

RAN, LABEL_REMOVED = "RanWithoutQuota", "LabelRemoved"
"""Ways to bypass the webhook, of several controllers."""


@dataclass(slots=True)
class Undone:
    """The undone changes of one kind of object that bypassed the webhook in one way.

    `count`: their number.
    `nanoseconds`: the total time until they were undone.
    """

    count: int = 0
    nanoseconds: int = 0


class Bypasses:
    """The changes that bypassed the webhook. Times are in nanoseconds. `undone`: by kind of object and way."""

    def __init__(self) -> None:
        self.undone: dict[tuple[str, str], Undone] = {}
        self._standing: dict[tuple[Key, str], int] = {}
        self._ways: dict[str, None] = {}  # all ways that were ever seen, which are few
        self._gone: list[tuple[Key, str]] = []

    def seen(self, key: Key, way: str, now: int) -> None:
        self._standing.setdefault((key, way), now)
        self._ways[way] = None

    def end(self, key: Key, way: str, now: int) -> None:
        """The change is undone. Nothing happens if it was not known."""
        since = self._standing.pop((key, way), None)
        if since is not None:
            found = self.undone.setdefault((key[0], way), Undone())
            found.count += 1
            found.nanoseconds += now - since

    def gone(self, key: Key, way: str = "") -> None:
        """The object is gone, so its changes are undone at the next `turn`. `way`: empty for all ways."""
        if self._standing:
            self._gone.append((key, way))

    def turn(self, now: int) -> None:
        """Begin a turn. Called after all observed changes were processed."""
        for key, way in self._gone:
            for each in (way,) if way else self.ways(key):
                self.end(key, each, now)
        self._gone.clear()

    def ways(self, key: Key) -> list[str]:
        """The ways in which the object has bypassed the webhook, and which are not undone yet."""
        return [way for way in self._ways if (key, way) in self._standing]

    def oldest(self) -> int | None:
        """When the oldest change that is not undone was first observed; None if there is none."""
        return min([*self._standing.values()], default=None)

    def __len__(self) -> int:
        return len(self._standing)
