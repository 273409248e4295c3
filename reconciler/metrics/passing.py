"""Counts the Pods that pass the gates of YuniKorn's quota and of Volcano's, once the API server has stored it."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry

from policies.configuration.settings import Dialect
from reconciler.controllers.volcano import gate_kinds as volcano
from reconciler.controllers.yunikorn import kinds as yunikorn
from reconciler.metrics.catalogue import register_other_queues
from reconciler.metrics.instruments import Instruments
from reconciler.metrics.occasions import PodPassed
from reconciler.objects.observed import Observed
from reconciler.observer.observer import NullObserver

_GATES = {yunikorn.GATED_POD.kind: Dialect.YUNIKORN, volcano.GATED_POD.kind: Dialect.VOLCANO}
"""By the kind as which a Pod is observed. Where both are kept, each Pod is observed as both."""


class PassingObserver(NullObserver):
    """`leads`: whether this process writes; of several replicas one counts."""

    def __init__(self, leads: Callable[[], bool], registry: CollectorRegistry) -> None:
        self._leads = leads
        register_other_queues()
        self._instruments = Instruments(registry, PodPassed)

    def changing(self, before: Observed | None, after: Observed, now: int) -> None:  # noqa: ARG002
        kind, name = after.key
        if kind == yunikorn.NAMESPACE.kind and after.value is None:
            self._instruments.forget(kind, name)
        elif kind in _GATES and _passes(before, after) and self._leads():
            self._instruments.count(PodPassed(_GATES[kind], after.value.namespace))


def _passes(before: Observed | None, after: Observed) -> bool:
    """Whether it had the gate and has it no longer; one that somebody else let through has not passed.

    It passed for the dialect for whose quota it is marked.
    """
    if before is None or before.value is None or after.value is None:
        return False
    pod = after.value
    return before.value.gated and not pod.gated and pod.marked and bool(pod.admitted)
