"""A persistent map that also keeps a total over its values, such as a sum or a maximum.

`put` and `drop` return a new map that shares all pages but those on one path with the old map. So a snapshot takes no
time, and a change takes the logarithm of the size. Each page keeps its total once it was computed. So a parent can
compute the sum over 5 000 children after a change of one of them without visiting the other 4 999.

A series of changes can pass an `owner`, which is any object. It then changes the pages that it has created in place,
since nothing else refers to them yet.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

_FANOUT = 16  # the most entries of a leaf, and the branches of a page: a change copies and adds up this many per level
_BITS = 4
_MASK = _FANOUT - 1
_DEEPEST = 60  # bits of a hash that are used, of 64; keys that have all of them in common share a leaf of any length


_UNKNOWN: Any = object()
"""Stands for a total that was not computed yet."""


class _Page(Generic[K, V]):
    """Either a leaf (`entries`) or a branch (`pages`).

    `size`, `total`: of all values below it.
    `owner`: only changes with this owner may change the page in place.
    """

    __slots__ = ("entries", "owner", "pages", "size", "total")

    def __init__(
        self, entries: dict[K, V] | None, pages: list[_Page[K, V] | None], size: int, owner: object | None = None
    ):
        self.entries = entries
        self.pages = pages
        self.size = size
        self.total: Any = _UNKNOWN
        self.owner = owner


class Trie(Generic[K, V, T]):
    """A persistent map from K to V.

    `join`: computes the total of the values of a leaf, or of the totals of branches, in any order.
    `exchange`: computes a total after one value was replaced, from the total, the old and the new value; returns None
    if it needs the other values.
    Raises KeyError as a dict does. Maps with equal content may have different pages: compare `dict(trie.items())`.
    """

    __slots__ = ("_exchange", "_join", "_page")

    def __init__(
        self,
        join: Callable[[Iterable[Any]], T],
        exchange: Callable[[T, V, V], T | None] | None = None,
        page: _Page[K, V] | None = None,
    ):
        self._join = join
        self._exchange = exchange
        self._page = page if page is not None else _Page({}, [], 0)

    @property
    def total(self) -> T:
        total: T = _total(self._page, self._join)
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
        """The value of `key`; None if it is absent. None cannot be a value of a Trie."""
        page, path = self._page, hash(key)
        while page.entries is None:
            below = page.pages[path & _MASK]
            if below is None:
                return None
            page, path = below, path >> _BITS
        return page.entries.get(key)

    def items(self) -> Iterator[tuple[K, V]]:
        """All pairs, in no particular order."""
        return _pairs(self._page)

    def values(self) -> Iterator[V]:
        return (value for _, value in _pairs(self._page))

    def indexed(self) -> Trie[K, V, T]:
        """The same map with an index for frequent reads. To build it, all pairs are visited."""
        return _Indexed(self._join, self._exchange, self._page)

    def put(self, key: K, value: V, owner: object | None = None) -> Trie[K, V, T]:
        """The map with this pair. With an `owner`, the old map must not be used any more."""
        page, exchange = self._page, self._exchange
        old = self.get(key) if exchange is not None and page.total is not _UNKNOWN else None
        if exchange is not None and old is not None:
            made = _exchanged(page, hash(key), key, old, value, exchange, owner)
        else:
            made = _put(page, hash(key), 0, key, value, owner)
        return Trie(self._join, exchange, made)

    def drop(self, key: K) -> Trie[K, V, T]:
        """The map without `key`; the map itself if it has no such key."""
        if self.get(key) is None:
            return self
        return Trie(self._join, self._exchange, _drop(self._page, hash(key), key))


class _Indexed(Trie[K, V, T]):
    __slots__ = ("_all",)

    def __init__(
        self, join: Callable[[Iterable[Any]], T], exchange: Callable[[T, V, V], T | None] | None, page: _Page[K, V]
    ):
        super().__init__(join, exchange, page)
        self._all = dict(_pairs(page))

    def get(self, key: K) -> V | None:
        return self._all.get(key)


def _total(page: _Page[K, V], join: Callable[[Iterable[Any]], T]) -> T:
    """The total of a page. Threads may compute it at the same time, since they get the same result."""
    total: T = page.total
    if total is _UNKNOWN:
        below = (_total(each, join) for each in page.pages if each is not None)
        page.total = total = join(page.entries.values() if page.entries is not None else below)
    return total


def _put(page: _Page[K, V], path: int, level: int, key: K, value: V, owner: object | None) -> _Page[K, V]:
    own = owner is not None and page.owner is owner
    if page.entries is not None:
        entries = page.entries if own else {**page.entries}
        entries[key] = value
        if len(entries) > _FANOUT and level < _DEEPEST:
            return _split(entries, level, owner)
        if not own:
            return _Page(entries, [], len(entries), owner)
        page.size, page.total = len(entries), _UNKNOWN
        return page
    pages, slot = page.pages if own else [*page.pages], path & _MASK
    below = pages[slot]
    if below is None:
        size, made = page.size + 1, _Page({key: value}, [], 1, owner)
    else:
        size = page.size - below.size
        made = _put(below, path >> _BITS, level + _BITS, key, value, owner)
        size += made.size
    pages[slot] = made
    if not own:
        return _Page(None, pages, size, owner)
    page.size, page.total = size, _UNKNOWN
    return page


def _exchanged(
    page: _Page[K, V],
    path: int,
    key: K,
    old: V,
    value: V,
    exchange: Callable[[Any, V, V], Any],
    owner: object | None,
) -> _Page[K, V]:
    """The page with another value for a present key. A known total is updated with `exchange`, if possible."""
    own = owner is not None and page.owner is owner
    made = page if own else _Page(page.entries and {**page.entries}, [*page.pages], page.size, owner)
    if made.entries is not None:
        made.entries[key] = value
    else:
        slot = path & _MASK
        below = page.pages[slot]
        assert below is not None, "the key is present"
        made.pages[slot] = _exchanged(below, path >> _BITS, key, old, value, exchange, owner)
    total = None if page.total is _UNKNOWN else exchange(page.total, old, value)
    made.total = _UNKNOWN if total is None else total
    return made


def _drop(page: _Page[K, V], path: int, key: K) -> _Page[K, V] | None:
    if page.entries is not None:
        entries = {k: v for k, v in page.entries.items() if k != key}
        return _Page(entries, [], len(entries)) if entries else None
    pages, slot = [*page.pages], path & _MASK
    below = pages[slot]
    pages[slot] = None if below is None else _drop(below, path >> _BITS, key)
    size = sum(p.size for p in pages if p)
    if size <= _FANOUT // 2:  # only half full, so that alternating `put` and `drop` do not split and merge it each time
        entries = {k: v for p in pages if p for k, v in _pairs(p)}
        return _Page(entries, [], len(entries)) if entries else None
    return _Page(None, pages, size)


def _split(entries: dict[K, V], level: int, owner: object | None) -> _Page[K, V]:
    slots: list[dict[K, V]] = [{} for _ in range(_FANOUT)]
    for key, value in entries.items():
        slots[hash(key) >> level & _MASK][key] = value
    pages = [
        None
        if not slot
        else _split(slot, level + _BITS, owner)
        if len(slot) > _FANOUT and level + _BITS < _DEEPEST
        else _Page(slot, [], len(slot), owner)
        for slot in slots
    ]
    return _Page(None, pages, len(entries), owner)


def _pairs(page: _Page[K, V]) -> Iterator[tuple[K, V]]:
    if page.entries is not None:
        yield from page.entries.items()
    for below in page.pages:
        if below is not None:
            yield from _pairs(below)


def no_total(_: Iterable[object]) -> None:
    """The `join` of a map that needs no total."""
