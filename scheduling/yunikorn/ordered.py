"""A sorted collection whose keys may change. A change costs the logarithm of the number of items."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Ordered(Generic[T]):
    """Items by their key and, for equal keys, by their name. Names are unique; keys can be compared with each other."""

    __slots__ = ("_items", "_keys", "_sorted")

    def __init__(self) -> None:
        self._keys: dict[str, Any] = {}
        self._items: dict[str, T] = {}
        self._sorted: list[tuple[Any, str]] = []

    def put(self, name: str, key: Any, item: T) -> None:
        """Add the item, or move it to the place of its new key."""
        self._items[name] = item
        if name in self._keys:
            if self._keys[name] == key:
                return
            self._remove(name)
        self._keys[name] = key
        insort(self._sorted, (key, name))

    def drop(self, name: str) -> None:
        if self._items.pop(name, None) is not None:
            self._remove(name)

    @property
    def first(self) -> tuple[Any, str]:
        """The smallest key, and the name of its item. Raises IndexError if it is empty."""
        return self._sorted[0]

    def _remove(self, name: str) -> None:
        del self._sorted[bisect_left(self._sorted, (self._keys.pop(name), name))]

    def __len__(self) -> int:
        return len(self._sorted)

    def __iter__(self) -> Iterator[T]:
        return (self._items[name] for _, name in self._sorted)
