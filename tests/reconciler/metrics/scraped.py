"""A world as a scrape reads it."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from reconciler.metrics.collector import Scraped
from reconciler.metrics.registry import ChosenRegistry
from scheduling.world.world import World


def registry(made: World, *switched_off: str) -> CollectorRegistry:
    found = ChosenRegistry(switched_off)
    found.register(Scraped(World, lambda read: read(made)))
    return found


def value(made: World, metric: str, /, **labels: str) -> float | None:
    return registry(made).get_sample_value(f"kueue_{metric}", {**labels, "replica_role": "leader"})
