"""Labels of an administrator: what ClusterQueues, LocalQueues and Cohorts say in a label or an annotation.

They are added when somebody scrapes, by the object that a series names, so a series follows a change of its object.
Source: Kueue v0.19, metrics.customLabels; KEP-7066.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prometheus_client.metrics_core import Metric

from policies.configuration.kueue.values import CustomLabel
from reconciler.metrics.kueue import CLUSTER_QUEUE, COHORT, LOCAL_QUEUE
from reconciler.objects.observed import Key, Observed
from reconciler.objects.stored import Stored

_PREEMPTING = "preempting_cluster_queue"
_KUEUE = "kueue_"


class CustomLabels:
    """`put` belongs to the thread of the loop; others read what is there."""

    def __init__(self, labels: Iterable[CustomLabel] = ()) -> None:
        self._of_kind: dict[str, list[CustomLabel]] = {}
        for label in labels:
            self._of_kind.setdefault(label.kind, []).append(label)
        self._known: dict[Key, Mapping[str, str]] = {}

    def put(self, observed: Observed) -> None:
        """An object is stored so now, or is gone."""
        labels = self._of_kind.get(observed.key[0])
        if labels is None:
            return
        if isinstance(observed.detail, Stored) and observed.value is not None:
            self._known[observed.key] = {_name(label): _value(label, observed.detail) for label in labels}
        else:
            self._known.pop(observed.key, None)

    def added(self, metric: Metric) -> Metric:
        """The metric with them, where its series name an object that has them."""
        if not self._of_kind or not metric.name.startswith(_KUEUE):
            return metric
        made = Metric(metric.name, metric.documentation, metric.type, metric.unit)
        made.samples = [each._replace(labels={**each.labels, **self._of(each.labels)}) for each in metric.samples]
        return made

    def _of(self, series: Mapping[str, str]) -> Mapping[str, str]:
        key = _object_of(series)
        labels = self._of_kind.get(key[0]) if key is not None else None
        if key is None or labels is None:
            return {}
        return self._known.get(key) or {_name(label): "" for label in labels}


def _object_of(series: Mapping[str, str]) -> Key | None:
    """A series of a ClusterQueue may name its Cohort as well."""
    for label in (CLUSTER_QUEUE, _PREEMPTING):
        if label in series:
            return "ClusterQueue", series[label]
    name, namespace = LOCAL_QUEUE
    if name in series and namespace in series:
        return "LocalQueue", f"{series[namespace]}/{series[name]}"
    return ("Cohort", series[COHORT]) if COHORT in series else None


def _name(label: CustomLabel) -> str:
    return f"{label.kind.lower()}_custom_{label.name}"


def _value(label: CustomLabel, stored: Stored) -> str:
    """Empty where the object does not say, or says what is not tracked."""
    found = (stored.annotations if label.annotation else stored.labels).get(label.key, "")
    return found if not label.tracked or found in label.tracked else ""
