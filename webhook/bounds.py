"""How many entries an object may have: more than any object in real use, and few enough to be judged in time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

MAP = 10_000
"""The most entries of one map. Kubernetes' own maps stay far below: annotations have 256 KiB in all, and resources are
a handful."""
LIST = 100_000
"""The most entries of one list, as many as Kueue's definitions allow at most. In 1.5 MiB, which is what etcd stores,
each has 15 bytes."""
_FREE = 64 * 1024
"""Bytes. A review of this size cannot have enough entries to take long, so its entries are not counted."""


def crowded(manifest: Mapping[str, Any] | None, size: int) -> str:
    """Why the new object of a review is too large; empty if it is not.

    `size`: the bytes of the review.
    """
    if manifest is None or size < _FREE:
        return ""
    waiting: list[Any] = [manifest]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            if len(value) > MAP:
                return f"a map in it has {len(value)} entries; at most {MAP} are judged"
            waiting += _containers(value.values())
        else:
            if len(value) > LIST:
                return f"a list in it has {len(value)} entries; at most {LIST} are judged"
            waiting += _containers(value)
    return ""


def _containers(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if isinstance(value, Mapping | list)]
