"""What a dashboard shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Panel:
    """`queries` by legend; `{{label}}` in a legend is Grafana's. `unit` is one of Grafana's ids."""

    title: str
    about: str
    queries: Mapping[str, str]
    unit: str = "short"


@dataclass(frozen=True)
class Board:
    """`variables`: by name the query that lists the values, for `$name` in the panels."""

    uid: str
    title: str
    panels: tuple[Panel, ...]
    variables: Mapping[str, str] = field(default_factory=dict)


def quantiles(histogram: str, *by: str, selector: str = "") -> dict[str, str]:
    """The median and the slowest hundredth, by these labels."""
    labels = ", ".join(("le", *by))
    legend = " ".join(f"{{{{{each}}}}}" for each in by)
    return {
        f"p{share} {legend}".strip(): f"histogram_quantile(0.{share}, sum by ({labels})"
        f" (rate({histogram}_bucket{selector}[$__rate_interval])))"
        for share in (50, 99)
    }


def rates(counter: str, *by: str, selector: str = "") -> dict[str, str]:
    """How often in a second, by these labels."""
    legend = " ".join(f"{{{{{each}}}}}" for each in by) or "all"
    return {legend: f"sum by ({', '.join(by)}) (rate({counter}{selector}[$__rate_interval]))"}
