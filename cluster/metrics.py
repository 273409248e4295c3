"""The description of a metric: one entry, from which it is exported and documented."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

# The library would export when each series began, as another series that neither Kueue nor our pages have.
disable_created_metrics()  # type: ignore[no-untyped-call]
_TOTAL = "_total"
Instrument = TypeVar("Instrument", Counter, Gauge, Histogram)


class Type(StrEnum):
    """The types of metrics, as Prometheus names them."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Stability(StrEnum):
    """The project that decides about the name, the labels and the buckets of a metric.

    OURS: Quotree decides, as docs/stability.md says. Otherwise they are as in the version of that project that Quotree
    follows.
    """

    OURS = "Quotree's"
    KUEUE = "Kueue's"
    VOLCANO = "Volcano's"
    YUNIKORN = "YuniKorn's"


@dataclass(frozen=True, slots=True)
class Family:
    """One metric with all its series.

    `name`: the exported name. It ends in `_total` for a counter, and for no other type.
    `help`: a sentence or two.
    `labels`: the names of the labels, in the order of the values in a Sample.
    `buckets`: the upper bounds of a histogram; empty for other types.
    `initial`: the label values of the series that are exported as 0 from the start.
    `switches`: the keys of the configuration that can leave the metric out.
    """

    name: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    stability: Stability = Stability.OURS
    initial: tuple[tuple[str, ...], ...] = ()
    switches: tuple[str, ...] = ()

    @property
    def type(self) -> Type:
        if self.name.endswith(_TOTAL):
            return Type.COUNTER
        return Type.HISTOGRAM if self.buckets else Type.GAUGE

    @property
    def base(self) -> str:
        """The name by which the Prometheus library registers it."""
        return self.name.removesuffix(_TOTAL)

    def sample(self, value: float, *labels: str) -> Sample:
        return Sample(self, value, labels)

    def counter(self, registry: CollectorRegistry) -> Counter:
        return self._initialised(Counter(self.base, self.help, self.labels, registry=registry))

    def gauge(self, registry: CollectorRegistry) -> Gauge:
        return self._initialised(Gauge(self.base, self.help, self.labels, registry=registry))

    def histogram(self, registry: CollectorRegistry) -> Histogram:
        made = Histogram(self.base, self.help, self.labels, buckets=self.buckets, registry=registry)
        return self._initialised(made)

    def _initialised(self, made: Instrument) -> Instrument:
        for values in self.initial:
            made.labels(*values)
        return made


class Sample(NamedTuple):
    """A value of one series. A counter is increased by it, a histogram observes it, a gauge is set to it."""

    family: Family
    value: float
    labels: tuple[str, ...]
