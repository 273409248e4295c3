"""Gauges, and counters that other code maintains. They are read at a scrape."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Generic, TypeAlias, TypeVar

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample as Exported

from cluster.metrics import Family, Sample
from reconciler.metrics.catalogue import sources
from reconciler.metrics.kueue import LEADER, ROLE

log = logging.getLogger(__name__)
T = TypeVar("T")
Read: TypeAlias = list[tuple[tuple[Family, ...], list[Sample]]]
"""The families and the samples of each source."""
Ask: TypeAlias = Callable[[Callable[[T], Read]], Read]
"""Runs a function of the occasion in the thread that owns the occasion. Raises TimeoutError if that takes too long."""


class Scraped(Collector, Generic[T]):
    """The metrics whose sources read occasions of this type. `role`: returns the present role of this replica."""

    def __init__(self, occasion: type[T], ask: Ask[T], *, role: Callable[[], str] = lambda: LEADER) -> None:
        self._name = occasion.__name__
        self._sources = sources(occasion)
        self._ask = ask
        self._role = role

    def collect(self) -> Iterable[Metric]:
        role = self._role()
        try:
            found = self._ask(self._read)
        except TimeoutError:
            log.warning("the loop did not answer a scrape in time; the metrics of the %s are left out", self._name)
            return
        for families, samples in found:
            yield from _metrics(families, samples, role)

    def _read(self, occasion: T) -> Read:
        """Read the samples. This has to be fast, because the loop may wait; metrics are built from them afterwards."""
        return [(each.families, list(each.read(occasion))) for each in self._sources if each.applies(occasion)]

    def describe(self) -> Iterable[Metric]:
        """Nothing, so that a gauge and a counter may have the same base name, as kueue_finished_workloads has."""
        return ()


def _metrics(families: tuple[Family, ...], samples: list[Sample], role: str) -> Iterable[Metric]:
    """Build the metrics.

    `samples` is emptied meanwhile, so that the garbage collector has two objects for each series instead of four.
    """
    made = {family.name: Metric(family.base, family.help, str(family.type)) for family in families}
    roles = {family.name: (role,) if family.labels[-1:] == (ROLE,) else () for family in families}
    samples.reverse()
    while samples:
        family, value, labels = samples.pop()
        named = dict(zip(family.labels, labels + roles[family.name], strict=True))
        made[family.name].samples.append(Exported(family.name, named, value))
    return made.values()
