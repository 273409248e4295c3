"""Counts the Pods that pass the gates of YuniKorn's and Volcano's quota, once the API server has stored that."""

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
from reconciler.observer.observer import NullObserver
from scheduling.volcano.gates.gated_pod import VolcanoGatedPod
from scheduling.yunikorn.gates.gated_pod import YuniKornGatedPod

_GATES: Mapping[str, tuple[WatchedKind[YuniKornGatedPod | VolcanoGatedPod], Dialect]] = {
    yunikorn.GATED_POD.kind: (yunikorn.GATED_POD, Dialect.YUNIKORN),
    volcano.GATED_POD.kind: (volcano.GATED_POD, Dialect.VOLCANO),
}
"""The views of Pods, by kind. Where both are kept, each Pod is observed in both."""


class PassingObserver(NullObserver):
    """`leads`: whether this process writes; of several replicas one counts."""

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
    """The dialect whose gate the Pod passed: the one that its label names.

    A Pod whose gate another client removed has not passed.
    """
    return was.gated and not pod.gated and pod.marked and bool(pod.admitted)
