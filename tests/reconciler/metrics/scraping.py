"""What a scrape of a registry says."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

Series = dict[tuple[str, ...], float]


def scraped(registry: CollectorRegistry, name: str) -> Series:
    """By the values of the labels, in the order of their names."""
    return {
        tuple(each.labels[label] for label in sorted(each.labels)): each.value
        for metric in registry.collect()
        for each in metric.samples
        if each.name == name
    }
