"""Counts the Pods that pass the gate of YuniKorn's quota, once the API server has stored it."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry

from reconciler.controllers.yunikorn.kinds import GATED_POD, NAMESPACE
from reconciler.metrics.instruments import Instruments
from reconciler.metrics.occasions import PodPassed
from reconciler.objects.observed import Observed
from reconciler.observer.observer import NullObserver


class PassingObserver(NullObserver):
    """`leads`: whether this process writes; of several replicas one counts."""

    def __init__(self, leads: Callable[[], bool], registry: CollectorRegistry) -> None:
        self._leads = leads
        self._instruments = Instruments(registry, PodPassed)

    def changing(self, before: Observed | None, after: Observed, now: int) -> None:  # noqa: ARG002
        kind, name = after.key
        if kind == NAMESPACE.kind and after.value is None:
            self._instruments.forget(kind, name)
        elif kind == GATED_POD.kind and _passes(before, after) and self._leads():
            self._instruments.count(PodPassed(after.value.namespace))


def _passes(before: Observed | None, after: Observed) -> bool:
    """Whether it had the gate and has it no longer; one that somebody else let through has not passed."""
    if before is None or before.value is None or after.value is None:
        return False
    return before.value.gated and not after.value.gated and bool(after.value.admitted)
