"""Custom labels: labels and annotations of ClusterQueues, LocalQueues, Cohorts and Workloads as labels of metrics.

Gauges get them at a scrape, by the object that a series names, so a series follows a change of its object. A counter
keeps the values that its object had when it counted. The labels of Workloads split a count of Workloads into several.
Source: Kueue v0.19, metrics.customLabels; KEP-7066.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample

from policies.configuration.kueue.values import CustomLabel
from policies.dialects.reading import metadata, texts
from reconciler.metrics.kueue import CLUSTER_QUEUE, COHORT, LOCAL_QUEUE
from reconciler.objects.observed import Key, Observed
from reconciler.objects.watched import WORKLOAD_VIEW

UNTRACKED = "kueue.x-k8s.io/_UNTRACKED_VALUE_"
"""Replaces all values that are not tracked."""
_PREEMPTING = "preempting_cluster_queue"
_KUEUE = "kueue_"
_SPLIT = f"{_KUEUE}admitted_active_workloads"
"""The one metric that Kueue v0.19 splits by labels of Workloads."""
Texts: TypeAlias = Mapping[str, str]
Values: TypeAlias = tuple[str, ...]
"""The values of the labels from Workloads, in their order."""
_NOTHING: Texts = {}


class CustomLabels:
    """`put` belongs to the loop's thread; other threads read."""

    def __init__(self, labels: Iterable[CustomLabel] = ()) -> None:
        self._of_kind: dict[str, list[CustomLabel]] = {}
        for label in labels:
            self._of_kind.setdefault(label.kind, []).append(label)
        self._of_workloads = self._of_kind.pop("Workload", [])
        self._known: dict[Key, Texts] = {}
        self._admitted = _Admitted()

    def put(self, observed: Observed[object]) -> None:
        """Take in an object, None if it is gone."""
        kind, name = observed.key
        if kind == "Workload" and self._of_workloads:
            self._admitted.put(name, self._place(observed))
        elif kind == "ClusterQueue" and observed.value is None:
            self._admitted.forget(name)
        labels = self._of_kind.get(kind)
        if labels is None:
            return
        stored = observed.stored
        if stored is not None and observed.value is not None:
            self._known[observed.key] = _values(labels, stored.labels, stored.annotations)
        else:
            self._known.pop(observed.key, None)

    def added(self, metric: Metric) -> Metric:
        """The metric with custom labels, if its series name an object that has them."""
        split = bool(self._of_workloads) and metric.name == _SPLIT
        if not (self._of_kind or split) or not metric.name.startswith(_KUEUE):
            return metric
        made = Metric(metric.name, metric.documentation, metric.type, metric.unit)
        for sample in metric.samples:
            named = sample._replace(labels={**self.of(sample.labels), **sample.labels})
            made.samples += self._parts(named) if split else [named]
        return made

    def names(self, labels: Iterable[str]) -> tuple[str, ...]:
        """The custom labels of a metric that has these labels."""
        return tuple(self.of(dict.fromkeys(labels, "")))

    def of(self, series: Texts) -> Texts:
        """The custom labels of a series with these labels, with their values now."""
        key = _object_of(series)
        labels = self._of_kind.get(key[0]) if key is not None else None
        if key is None or labels is None:
            return _NOTHING
        return self._known.get(key) or _values(labels, _NOTHING, _NOTHING)

    def _parts(self, sample: Sample) -> Iterator[Sample]:
        """The values of the stored object; if it is not stored, all values are untracked."""
        names = [_name(label) for label in self._of_workloads]
        none = {(UNTRACKED,) * len(names): 0}
        for values, count in {**none, **self._admitted.of(sample.labels[CLUSTER_QUEUE])}.items():
            yield sample._replace(value=count, labels={**sample.labels, **dict(zip(names, values, strict=True))})

    def _place(self, observed: Observed[object]) -> tuple[str, Values] | None:
        """The place where an admitted Workload counts: its ClusterQueue and its values; None if it counts nowhere."""
        workload, packed = WORKLOAD_VIEW.value(observed), observed.packed
        if workload is None or packed is None or workload.admission is None:
            return None
        if not (workload.admitted and workload.counts):
            return None
        meta = metadata(packed.manifest())
        labels, annotations = texts(meta.get("labels")), texts(meta.get("annotations"))
        return workload.admission.cluster_queue, tuple(_values(self._of_workloads, labels, annotations).values())


class _Admitted:
    """The number of admitted Workloads of each ClusterQueue, by combination of label values.

    A count stays, also at 0. Combinations are few, because the values of Workloads come from a list.
    """

    def __init__(self) -> None:
        self._places: dict[str, tuple[str, Values]] = {}
        self._counts: dict[str, dict[Values, int]] = {}

    def of(self, queue: str) -> Mapping[Values, int]:
        return dict(self._counts.get(queue, {}))

    def put(self, workload: str, place: tuple[str, Values] | None) -> None:
        before = self._places.pop(workload, None)
        if before is not None:
            self._add(*before, -1)
        if place is not None:
            self._places[workload] = place
            self._add(*place, 1)

    def forget(self, queue: str) -> None:
        """The ClusterQueue is gone: remove its empty series."""
        left = {values: count for values, count in self._counts.pop(queue, {}).items() if count}
        if left:
            self._counts[queue] = left

    def _add(self, queue: str, values: Values, number: int) -> None:
        counts = self._counts.setdefault(queue, {})
        counts[values] = counts.get(values, 0) + number


def _object_of(series: Texts) -> Key | None:
    """The object that a series names. A LocalQueue may come with its ClusterQueue, and that with its Cohort."""
    name, namespace = LOCAL_QUEUE
    if name in series and namespace in series:
        return "LocalQueue", f"{series[namespace]}/{series[name]}"
    for label in (CLUSTER_QUEUE, _PREEMPTING):
        if label in series:
            return "ClusterQueue", series[label]
    return ("Cohort", series[COHORT]) if COHORT in series else None


def _name(label: CustomLabel) -> str:
    return f"custom_{label.name}"


def _values(of: Iterable[CustomLabel], labels: Texts, annotations: Texts) -> Texts:
    return {_name(label): _value(label, annotations if label.annotation else labels) for label in of}


def _value(label: CustomLabel, said: Texts) -> str:
    """The value of the label; empty if the object has none and every value is tracked."""
    found = said.get(label.key, "")
    return found if not label.tracked or found in label.tracked else UNTRACKED
