"""An index of values by key and by group."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
G = TypeVar("G", bound=Hashable)
V = TypeVar("V")
_NOTHING: Mapping[Any, Any] = MappingProxyType({})


class Grouped(Generic[K, G, V]):
    """Each key is in one group. A group exists while it has keys, and keeps them in the order of `put`.

    `in` and iteration are about groups.
    """

    def __init__(self) -> None:
        self.group_of: dict[K, G] = {}
        self._groups: dict[G, dict[K, V]] = {}

    def put(self, key: K, group: G, value: V) -> None:
        """Set the value at the end of the group, and remove the key from its former place."""
        self.pop(key)
        self.group_of[key] = group
        self._groups.setdefault(group, {})[key] = value

    def pop(self, key: K) -> V | None:
        """Remove the key. Returns its value; None if it is absent."""
        if key not in self.group_of:
            return None
        group = self.group_of.pop(key)
        value = self._groups[group].pop(key)
        if not self._groups[group]:
            del self._groups[group]
        return value

    def of(self, group: G) -> Mapping[K, V]:
        return self._groups.get(group, _NOTHING)

    def __contains__(self, group: object) -> bool:
        return group in self._groups

    def __iter__(self) -> Iterator[G]:
        return iter(self._groups)


class Links(Generic[K, G]):
    """Each key is in any number of groups. A group exists while it has keys. `in` is about groups."""

    def __init__(self) -> None:
        self._groups: dict[K, tuple[G, ...]] = {}
        self._keys: dict[G, dict[K, None]] = {}

    def put(self, key: K, groups: Iterable[G]) -> None:
        """Put the key into these groups, and remove it from all others."""
        before, after = self._groups.pop(key, ()), tuple(dict.fromkeys(groups))
        for group in before:
            del self._keys[group][key]
            if not self._keys[group]:
                del self._keys[group]
        if after:
            self._groups[key] = after
        for group in after:
            self._keys.setdefault(group, {})[key] = None

    def drop(self, key: K) -> None:
        """Remove the key from all groups. Most keys that are dropped are in none."""
        if key in self._groups:
            self.put(key, ())

    def groups(self, key: K) -> tuple[G, ...]:
        return self._groups.get(key, ())

    def of(self, group: G) -> list[K]:
        """The keys of the group, in the order of `put`."""
        return [*self._keys.get(group, ())]

    def __contains__(self, group: object) -> bool:
        return group in self._keys
