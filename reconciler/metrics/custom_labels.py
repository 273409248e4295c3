"""Custom labels: labels and annotations of ClusterQueues, LocalQueues, Cohorts and Workloads become labels of metrics.

A gauge gets the present values at each scrape, from the object that the series names. A counter keeps the values that
the object had when it was counted. The labels of Workloads split the series of a queue into several.
Source: Kueue v0.19 and v0.20, metrics.customLabels; KEP-7066.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample

from policies.configuration.kueue.gates import KueueVersion
from policies.configuration.kueue.values import CustomLabel
from policies.dialects.reading import metadata, texts
from reconciler.metrics.kueue import CLUSTER_QUEUE, COHORT, LOCAL_QUEUE
from reconciler.objects.observed import Key, Observed
from reconciler.objects.watched import WORKLOAD_VIEW
from scheduling.world.world import World

UNTRACKED = "kueue.x-k8s.io/_UNTRACKED_VALUE_"
"""The value for all values that are not tracked."""
_PREEMPTING = "preempting_cluster_queue"
_KUEUE = "kueue_"
_ADMITTED = f"{_KUEUE}admitted_active_workloads"
"""The only metric that Kueue v0.19 splits by labels of Workloads."""
_LOCALLY_ADMITTED = f"{_KUEUE}local_queue_admitted_active_workloads"
_PENDING = f"{_KUEUE}pending_workloads"
_LOCALLY_PENDING = f"{_KUEUE}local_queue_pending_workloads"
_SPLIT_0_20 = frozenset((_LOCALLY_ADMITTED, _PENDING, _LOCALLY_PENDING))
_COUNTERS_0_20 = frozenset(
    f"{_KUEUE}local_queue_{name}" for name in ("admitted_workloads_total", "admission_wait_time_seconds")
)
"""The counters that Kueue v0.20 splits as well."""
Texts: TypeAlias = Mapping[str, str]
Values: TypeAlias = tuple[str, ...]
"""The values of the custom labels of a Workload, in the order of the labels."""
_NOTHING: Texts = {}


class CustomLabels:
    """The custom labels. Call `put` and `count` in the loop's thread; other methods may be called from any thread.

    `version`: the version of Kueue, which decides which metrics the labels of Workloads split.
    """

    def __init__(self, labels: Iterable[CustomLabel] = (), version: KueueVersion = KueueVersion.V0_19) -> None:
        self._of_kind: dict[str, list[CustomLabel]] = {}
        for label in labels:
            self._of_kind.setdefault(label.kind, []).append(label)
        self._of_workloads = self._of_kind.pop("Workload", [])
        later = bool(self._of_workloads) and version is not KueueVersion.V0_19
        self._split = frozenset((_ADMITTED,) if self._of_workloads else ()) | (_SPLIT_0_20 if later else frozenset())
        self._counters = _COUNTERS_0_20 if later else frozenset[str]()
        self._known: dict[Key, Texts] = {}
        self._values_of: dict[str, Values] = {}
        self._admitted, self._locally_admitted = _Admitted(), _Admitted()
        self._pending: dict[tuple[str, str], dict[Values, int]] = {}

    def put(self, observed: Observed[object]) -> None:
        kind, name = observed.key
        if kind == "Workload" and self._of_workloads:
            self._see(name, observed)
        elif kind == "ClusterQueue" and observed.value is None:
            self._admitted.forget(name)
        elif kind == "LocalQueue" and observed.value is None:
            self._locally_admitted.forget(name)
        labels = self._of_kind.get(kind)
        if labels is None:
            return
        stored = observed.stored
        if stored is not None and observed.value is not None:
            self._known[observed.key] = _values(labels, stored.labels, stored.annotations)
        else:
            self._known.pop(observed.key, None)

    def count(self, world: World) -> None:
        """Count the pending Workloads by label values before a scrape, if this version splits their metrics."""
        if _PENDING not in self._split:
            return
        counts: dict[tuple[str, str], Counter[Values]] = {}
        for local, queue in world.queues.local_queues.items():
            pending = world.queues.pending.get(queue.cluster_queue)
            ready = pending is not None and world.is_ready(queue.cluster_queue)
            for workload in world.queues.waiting_at(local):
                active = ready and pending is not None and pending.is_active(workload.key)
                values = self._values_of.get(workload.key, self._untracked)
                status = "active" if active else "inadmissible"
                for place in (local, queue.cluster_queue):
                    counts.setdefault((place, status), Counter())[values] += 1
        self._pending = {place: dict(found) for place, found in counts.items()}

    def added(self, metric: Metric) -> Metric:
        """The metric with custom labels, if its series name objects with such labels."""
        split = metric.name in self._split
        if not (self._of_kind or split) or not metric.name.startswith(_KUEUE):
            return metric
        made = Metric(metric.name, metric.documentation, metric.type, metric.unit)
        for sample in metric.samples:
            named = sample._replace(labels={**self.of(sample.labels), **sample.labels})
            made.samples += self._parts(metric.name, named) if split else [named]
        return made

    def names(self, metric: str, labels: Iterable[str]) -> tuple[str, ...]:
        """The names of the custom labels for a counter or histogram with these labels."""
        own = self.of(dict.fromkeys(labels, ""))
        return (*own, *map(_name, self._of_workloads)) if metric in self._counters else tuple(own)

    def values(self, metric: str, series: Texts, workload: str) -> Values:
        """The present values of these labels, to count an occasion of the Workload `namespace/name`."""
        own = tuple(self.of(series).values())
        return (*own, *self._values_of.get(workload, self._untracked)) if metric in self._counters else own

    def of(self, series: Texts) -> Texts:
        """The custom labels for a series with these labels, with their present values."""
        key = _object_of(series)
        labels = self._of_kind.get(key[0]) if key is not None else None
        if key is None or labels is None:
            return _NOTHING
        return self._known.get(key) or _values(labels, _NOTHING, _NOTHING)

    @property
    def _untracked(self) -> Values:
        return (UNTRACKED,) * len(self._of_workloads)

    def _parts(self, metric: str, sample: Sample) -> Iterator[Sample]:
        """The sample split by the label values of Workloads. There is always a part with untracked values."""
        names = [_name(label) for label in self._of_workloads]
        for values, count in {self._untracked: 0, **self._counted(metric, sample.labels)}.items():
            yield sample._replace(value=count, labels={**sample.labels, **dict(zip(names, values, strict=True))})

    def _counted(self, metric: str, series: Texts) -> Mapping[Values, int]:
        kind, name = _object_of(series) or ("", "")
        if metric in (_PENDING, _LOCALLY_PENDING):
            return self._pending.get((name, series["status"]), {})
        return (self._locally_admitted if kind == "LocalQueue" else self._admitted).of(name)

    def _see(self, name: str, observed: Observed[object]) -> None:
        """Process a Workload. An admitted one is counted at its ClusterQueue and at its LocalQueue."""
        workload, packed = WORKLOAD_VIEW.value(observed), observed.packed
        if workload is None or packed is None:
            self._values_of.pop(name, None)
            self._admitted.put(name, None)
            self._locally_admitted.put(name, None)
            return
        meta = metadata(packed.manifest())
        labels, annotations = texts(meta.get("labels")), texts(meta.get("annotations"))
        values = tuple(_values(self._of_workloads, labels, annotations).values())
        self._values_of[name] = values
        held = workload.admission if workload.admitted and workload.counts else None
        self._admitted.put(name, (held.cluster_queue, values) if held is not None else None)
        self._locally_admitted.put(name, (workload.local_queue, values) if held is not None else None)


class _Admitted:
    """The number of admitted Workloads of each queue, by combination of label values.

    A count of 0 is kept. There are few combinations, because only listed values are tracked.
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
        """The queue is gone: remove its counts of 0."""
        left = {values: count for values, count in self._counts.pop(queue, {}).items() if count}
        if left:
            self._counts[queue] = left

    def _add(self, queue: str, values: Values, number: int) -> None:
        counts = self._counts.setdefault(queue, {})
        counts[values] = counts.get(values, 0) + number


def _object_of(series: Texts) -> Key | None:
    """The object that a series names. If the series names several, the LocalQueue or the ClusterQueue counts first."""
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
    """The value of the label; empty if the object does not have it and all values are tracked."""
    found = said.get(label.key, "")
    return found if not label.tracked or found in label.tracked else UNTRACKED
