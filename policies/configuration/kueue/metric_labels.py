"""Finds faults of metrics.customLabels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from policies.configuration.kueue.fault import Fault, duplicate, invalid, too_many
from policies.dialects.labels import is_qualified_name
from policies.dialects.reading import Manifest, listing, mapping

_AT = "metrics.customLabels"
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*").fullmatch
_MOST = 20
_MOST_OF_KIND = {"ClusterQueue": 6, "Cohort": 6, "LocalQueue": 6, "Workload": 2}
_MOST_VALUES, _MOST_VALUES_OF_WORKLOADS = 16, 12


def metric_labels(configuration: Manifest) -> Iterator[Fault]:
    entries = [mapping(entry) for entry in listing(mapping(configuration.get("metrics")).get("customLabels"))]
    if len(entries) > _MOST:
        yield too_many(_AT, len(entries), _MOST)
    earlier: set[str] = set()
    for index, entry in enumerate(entries):
        at, name = f"{_AT}[{index}]", str(entry.get("name", ""))
        if not _NAME(name):
            yield invalid(f"{at}.name", f"{name!r} is not a valid metric label name; use letters, digits and _")
        if name in earlier:
            yield duplicate(f"{at}.name", name)
        earlier.add(name)
        yield from _source(entry, name, at)
        yield from _values(entry, at)
    yield from _counts(Counter(_kind(entry) for entry in entries))


def _kind(entry: Mapping[str, Any]) -> str:
    kind = entry.get("sourceKind")
    return "ClusterQueue" if kind is None else str(kind)


def _source(entry: Mapping[str, Any], name: str, at: str) -> Iterator[Fault]:
    label, annotation = entry.get("sourceLabelKey"), entry.get("sourceAnnotationKey")
    if label and annotation:
        yield invalid(at, "sourceLabelKey and sourceAnnotationKey: keep one of them")
    key, field = (label, "sourceLabelKey") if label else (annotation, "sourceAnnotationKey")
    key, field = (key, field) if key else (name, "name")
    if not is_qualified_name(str(key)):
        yield invalid(f"{at}.{field}", f"{key!r} is not a valid label key")


def _values(entry: Mapping[str, Any], at: str) -> Iterator[Fault]:
    values, at = listing(entry.get("trackedValues")), f"{at}.trackedValues"
    if _kind(entry) == "Workload":
        if not values:
            yield invalid(at, "list the label values that Workloads are counted by")
        elif len(values) > _MOST_VALUES_OF_WORKLOADS:
            yield invalid(at, f"{len(values)} values; at most {_MOST_VALUES_OF_WORKLOADS} for Workloads")
    elif len(values) > _MOST_VALUES:
        yield too_many(at, len(values), _MOST_VALUES)
    if len(set(map(str, values))) < len(values):
        yield invalid(at, "a value is listed twice; keep one of them")


def _counts(counts: Counter[str]) -> Iterator[Fault]:
    for kind, count in sorted(counts.items()):
        most = _MOST_OF_KIND.get(kind)
        if most is None:
            yield invalid(_AT, f"sourceKind {kind!r} is unknown; write {' or '.join(_MOST_OF_KIND)}")
        elif count > most:
            yield invalid(_AT, f"{count} labels from {kind}; at most {most} are allowed")
