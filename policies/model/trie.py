"""A persistent map that also keeps a total over its values.

`put` and `drop` return a new map that shares all but one path with the old one, so a snapshot costs nothing and
a change costs the logarithm of the size. The total (a sum, a maximum, ...) is cached in every branch, which is what
lets a parent know the sum over 5 000 children after one of them changed without looking at the other 4 999.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

_FANOUT = 16  # entries of a leaf, branches of a node: a change copies and totals this many things per level
_BITS = 4
_MASK = _FANOUT - 1
_DEEPEST = 60  # hashes have 64 bits; below this level equal hashes share a leaf of any length


class _Page(Generic[K, V]):
    """Either a leaf (`entries`) or a branch (`pages`), with the size and the total of what is under it."""

    __slots__ = ("entries", "pages", "size", "total")

    def __init__(self, entries: dict[K, V] | None, pages: tuple[_Page[K, V] | None, ...], size: int, total: Any):
        self.entries = entries
        self.pages = pages
        self.size = size
        self.total = total


class Trie(Generic[K, V, T]):
    """A persistent map from K to V; `total` is `join` over all values.

    `join` takes the values of a leaf or the totals of the branches; it must not depend on their order.
    Raises KeyError as a dict does. Equal content does not mean equal shape: compare `dict(trie.items())`.
    """

    __slots__ = ("_join", "_page")

    def __init__(self, join: Callable[[Iterable[Any]], T], page: _Page[K, V] | None = None):
        self._join = join
        self._page = page if page is not None else _Page({}, (), 0, join(()))

    @property
    def total(self) -> T:
        total: T = self._page.total
        return total

    def __len__(self) -> int:
        return self._page.size

    def __contains__(self, key: K) -> bool:
        return self.get(key) is not None

    def __getitem__(self, key: K) -> V:
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        return value

    def get(self, key: K) -> V | None:
        """The value of `key`, None where there is none (None itself is no value of a Trie)."""
        page, path = self._page, hash(key)
        while page.entries is None:
            below = page.pages[path & _MASK]
            if below is None:
                return None
            page, path = below, path >> _BITS
        return page.entries.get(key)

    def items(self) -> Iterator[tuple[K, V]]:
        """Every pair, in an order that means nothing."""
        return _pairs(self._page)

    def values(self) -> Iterator[V]:
        return (value for _, value in _pairs(self._page))

    def put(self, key: K, value: V) -> Trie[K, V, T]:
        return Trie(self._join, self._put(self._page, hash(key), 0, key, value))

    def drop(self, key: K) -> Trie[K, V, T]:
        """The map without `key`; the map itself where it has no such key."""
        if self.get(key) is None:
            return self
        return Trie(self._join, self._drop(self._page, hash(key), key))

    def _put(self, page: _Page[K, V], path: int, level: int, key: K, value: V) -> _Page[K, V]:
        if page.entries is not None:
            entries = {**page.entries, key: value}
            if len(entries) <= _FANOUT or level >= _DEEPEST:
                return self._leaf(entries)
            return self._split(entries, level)
        pages, slot = list(page.pages), path & _MASK
        below = pages[slot]
        pages[slot] = (
            self._leaf({key: value}) if below is None else self._put(below, path >> _BITS, level + _BITS, key, value)
        )
        return self._branch(pages)

    def _drop(self, page: _Page[K, V], path: int, key: K) -> _Page[K, V] | None:
        if page.entries is not None:
            entries = {k: v for k, v in page.entries.items() if k != key}
            return self._leaf(entries) if entries else None
        pages, slot = list(page.pages), path & _MASK
        below = pages[slot]
        pages[slot] = None if below is None else self._drop(below, path >> _BITS, key)
        if sum(p.size for p in pages if p) <= _FANOUT // 2:  # half, so that put and drop in turn do not split each time
            entries = {k: v for p in pages if p for k, v in _pairs(p)}
            return self._leaf(entries) if entries else None
        return self._branch(pages)

    def _split(self, entries: dict[K, V], level: int) -> _Page[K, V]:
        slots: list[dict[K, V]] = [{} for _ in range(_FANOUT)]
        for key, value in entries.items():
            slots[hash(key) >> level & _MASK][key] = value
        pages = [
            None
            if not slot
            else self._split(slot, level + _BITS)
            if len(slot) > _FANOUT and level + _BITS < _DEEPEST
            else self._leaf(slot)
            for slot in slots
        ]
        return self._branch(pages)

    def _leaf(self, entries: dict[K, V]) -> _Page[K, V]:
        return _Page(entries, (), len(entries), self._join(entries.values()))

    def _branch(self, pages: Sequence[_Page[K, V] | None]) -> _Page[K, V]:
        live = [page for page in pages if page is not None]
        return _Page(None, tuple(pages), sum(page.size for page in live), self._join([page.total for page in live]))


def _pairs(page: _Page[K, V]) -> Iterator[tuple[K, V]]:
    if page.entries is not None:
        yield from page.entries.items()
    for below in page.pages:
        if below is not None:
            yield from _pairs(below)


def no_total(_: Iterable[object]) -> None:
    """The `join` of a map that needs no total."""
