"""Sources of values: functions that read an occasion, such as a change of a Workload, and yield samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from cluster.metrics import Family, Sample

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MetricSource(Generic[T]):
    """A source of samples.

    `families`: the metrics of the samples.
    `read`: yields the samples of an occasion.
    `applies`: returns whether these metrics are exported for an occasion.
    """

    families: tuple[Family, ...]
    read: Callable[[T], Iterable[Sample]]
    applies: Callable[[T], bool]


REGISTERED: dict[type, list[MetricSource[Any]]] = {}
"""The sources by type of occasion. Use `catalogue` to read them, because it imports all modules with sources."""


def source(
    occasion: type[T], *families: Family, applies: Callable[[T], bool] = lambda _: True
) -> Callable[[Callable[[T], Iterable[Sample]]], Callable[[T], Iterable[Sample]]]:
    """Register a function as the source of these families. It is called for each occasion of this type."""

    def register(read: Callable[[T], Iterable[Sample]]) -> Callable[[T], Iterable[Sample]]:
        REGISTERED.setdefault(occasion, []).append(MetricSource(families, read, applies))
        return read

    return register
