"""The description of a Grafana dashboard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Panel:
    """A panel. `about`: its description. `queries`: a legend, with Grafana's `{{label}}`, to its query. `unit`: a unit
    id of Grafana."""

    title: str
    about: str
    queries: Mapping[str, str]
    unit: str = "short"


@dataclass(frozen=True)
class Board:
    """A dashboard. `variables`: each `$name` in the panels to the query that lists its values."""

    uid: str
    title: str
    panels: tuple[Panel, ...]
    variables: Mapping[str, str] = field(default_factory=dict)


def quantiles(histogram: str, *by: str, selector: str = "") -> dict[str, str]:
    """The queries for the median and the 99th percentile of a histogram, grouped by these labels."""
    labels = ", ".join(("le", *by))
    legend = " ".join(f"{{{{{each}}}}}" for each in by)
    return {
        f"p{share} {legend}".strip(): f"histogram_quantile(0.{share}, sum by ({labels})"
        f" (rate({histogram}_bucket{selector}[$__rate_interval])))"
        for share in (50, 99)
    }


def rates(counter: str, *by: str, selector: str = "") -> dict[str, str]:
    """The query for the rate per second of a counter, grouped by these labels."""
    legend = " ".join(f"{{{{{each}}}}}" for each in by) or "all"
    return {legend: f"sum by ({', '.join(by)}) (rate({counter}{selector}[$__rate_interval]))"}
