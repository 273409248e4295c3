"""Counts the Pods that pass the gates of YuniKorn and Volcano, when the API server has stored the change."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from prometheus_client import CollectorRegistry

from policies.configuration.settings import Dialect
from reconciler.controllers.volcano import gate_kinds as volcano
from reconciler.controllers.yunikorn import kinds as yunikorn
from reconciler.metrics.catalogue import register_other_queues
from reconciler.metrics.instruments import Instruments
from reconciler.metrics.occasions import PodPassed
from reconciler.objects.observed import Observed
from reconciler.objects.watched import WatchedKind
from reconciler.observer.observer import Observer
from scheduling.volcano.gates.gated_pod import VolcanoGatedPod
from scheduling.yunikorn.gates.gated_pod import YuniKornGatedPod

_GATES: Mapping[str, tuple[WatchedKind[YuniKornGatedPod | VolcanoGatedPod], Dialect]] = {
    yunikorn.GATED_POD.kind: (yunikorn.GATED_POD, Dialect.YUNIKORN),
    volcano.GATED_POD.kind: (volcano.GATED_POD, Dialect.VOLCANO),
}
"""The views of Pods at gates, by kind. If both dialects have gates, each Pod is observed in both views."""


class PassingObserver(Observer):
    """Counts Pods that pass. `leads`: returns whether this process writes; only such a replica counts."""

    def __init__(self, leads: Callable[[], bool], registry: CollectorRegistry) -> None:
        self._leads = leads
        register_other_queues()
        self._instruments = Instruments(registry, PodPassed)

    def changing(self, before: Observed[object] | None, after: Observed[object], now: int) -> None:  # noqa: ARG002
        kind, name = after.key
        if kind == yunikorn.NAMESPACE.kind and after.value is None:
            self._instruments.forget(kind, name)
        elif kind in _GATES:
            view, dialect = _GATES[kind]
            was, pod = view.value(before), view.value(after)
            if was is not None and pod is not None and _passes(was, pod) and self._leads():
                self._instruments.count(PodPassed(dialect, pod.namespace))


def _passes(was: YuniKornGatedPod | VolcanoGatedPod, pod: YuniKornGatedPod | VolcanoGatedPod) -> bool:
    """Whether the Pod passed the gate of this view's dialect, which its label names.

    If another client removed the gate, the Pod has not passed.
    """
    return was.gated and not pod.gated and pod.marked and bool(pod.admitted)
