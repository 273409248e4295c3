"""All metrics of the reconciler, and their sources."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar

import reconciler.metrics.families  # noqa: F401  registers the sources
from cluster.metrics import Family
from reconciler.metrics.source import REGISTERED, MetricSource

T = TypeVar("T")


def families() -> tuple[Family, ...]:
    """All metrics, sorted by name. Raises ValueError if two have the same name."""
    register_other_queues()
    found = [family for sources in REGISTERED.values() for source in sources for family in source.families]
    names = [family.name for family in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"declared by two sources: {', '.join(sorted(twice))}")
    return tuple(sorted(found, key=lambda family: family.name))


def left_out(switched_off: Collection[str]) -> set[tuple[str, str]]:
    """The base and type of each registered metric that one of these configuration keys switches off.

    Metrics that are not registered are not exported, so modules need not be imported to find them.
    """
    off = set(switched_off)
    found = (family for sources in REGISTERED.values() for source in sources for family in source.families)
    return {(family.base, family.type) for family in found if not off.isdisjoint(family.switches)}


def register_other_queues() -> None:
    """Register the metrics of Volcano's and YuniKorn's queues as well. Their imports are slow."""
    import reconciler.metrics.families.other_queues  # noqa: F401


def sources(occasion: type[T]) -> tuple[MetricSource[T], ...]:
    return tuple(REGISTERED.get(occasion, ()))
