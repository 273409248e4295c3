"""Counters and histograms. They are updated on each occasion."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram

from cluster.metrics import Family, Sample, Type
from reconciler.controllers.yunikorn import QUOTA_NAMESPACE
from reconciler.metrics.catalogue import sources
from reconciler.metrics.custom_labels import CustomLabels
from reconciler.metrics.kueue import CLUSTER_QUEUE, COHORT, LEADER, LOCAL_QUEUE, ROLE
from reconciler.metrics.occasions import WorkloadChange

NO_CUSTOM_LABELS = CustomLabels()
_OWNED: dict[str, tuple[tuple[str, ...], ...]] = {
    "ClusterQueue": ((CLUSTER_QUEUE,), ("preempting_cluster_queue",)),
    "Cohort": ((COHORT,),),
    "LocalQueue": (LOCAL_QUEUE[::-1],),
    "Namespace": (("namespace",),),  # a LocalQueue may be deleted before its last Workload is counted
    QUOTA_NAMESPACE: (("namespace",),),
}
"""The labels that name an object, by kind, in the order of the parts of its key."""


class Instruments:
    """The counters and histograms of all sources of these types, in one registry. Only the replica that writes counts.

    `custom`: the custom labels. A series keeps the label values that it had at its first sample.
    """

    def __init__(
        self, registry: CollectorRegistry, *occasions: type[Any], custom: CustomLabels = NO_CUSTOM_LABELS
    ) -> None:
        self._sources = {occasion: sources(occasion) for occasion in occasions}
        families = [family for every in self._sources.values() for each in every for family in each.families]
        self._custom = custom
        self._names = {family.name: custom.names(family.name, family.labels) for family in families}
        self._made = {family.name: _made(_with(family, self._names[family.name]), registry) for family in families}
        self._series: dict[tuple[str, tuple[str, ...], tuple[str, ...]], Any] = {}
        self._labels = {family.name: family.labels for family in families}

    def count(self, occasion: object) -> None:
        """Count the samples that the sources yield for the occasion."""
        for source in self._sources[type(occasion)]:
            for sample in source.read(occasion) if source.applies(occasion) else ():
                self._add(sample, occasion)

    def forget(self, kind: str, key: str) -> None:
        """An object is gone: remove the series that have its name."""
        for labels in _OWNED.get(kind, ()):
            self._series.clear()
            named = dict(zip(labels, key.split("/", len(labels) - 1), strict=True))
            for name, known in self._labels.items():
                if named.keys() <= set(known):
                    self._made[name].remove_by_labels(named)

    def _add(self, sample: Sample, occasion: object) -> None:
        custom = self._values(sample, occasion)
        place = sample.family.name, sample.labels, custom
        series = self._series.get(place)
        if series is None:
            series = self._series[place] = self._find(sample, custom)
        if isinstance(series, Histogram):
            series.observe(sample.value)
        else:
            series.inc(sample.value)

    def _values(self, sample: Sample, occasion: object) -> tuple[str, ...]:
        """The present values of the custom labels."""
        if not self._names[sample.family.name]:
            return ()
        workload = occasion.after.key if isinstance(occasion, WorkloadChange) else ""
        series = dict(zip(sample.family.labels, sample.labels, strict=False))
        return self._custom.values(sample.family.name, series, workload)

    def _find(self, sample: Sample, custom: tuple[str, ...]) -> Counter | Histogram:
        """The series of a sample. The caller caches it, because the client library takes long to find it."""
        made, family = self._made[sample.family.name], sample.family
        labels = (*sample.labels, LEADER) if family.labels[-1:] == (ROLE,) else sample.labels
        labels += custom
        return made.labels(*labels) if labels else made


def _with(family: Family, names: tuple[str, ...]) -> Family:
    return replace(family, labels=(*family.labels, *names)) if names else family


def _made(family: Family, registry: CollectorRegistry) -> Counter | Histogram:
    return family.histogram(registry) if family.type is Type.HISTOGRAM else family.counter(registry)
