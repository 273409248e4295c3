"""The usage of a node in the last hours, as a step chart for each flavor and resource."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from dashboard.pages.formatting import amount, path_part
from dashboard.pages.times import Clock, now
from dashboard.reading.cache import CachedReader
from dashboard.trees.tree import FlavorPair, PairUsage, TreeNode
from policies.model.quantity import Quantity

WIDTH, HEIGHT = 240, 44
"""The size of a chart in viewBox units."""
_EDGE = 2
_MINUTE = 60


class UsageChart(NamedTuple):
    """A step chart.

    `line`: the `points` of an SVG polyline.
    `quota`: the y of the quota's line; None if there is no quota.
    `text`: a description for screen readers.
    `most`: the amount at the top of the vertical axis, which begins at 0.
    `span`: how long ago the left end is.
    """

    line: str
    quota: float | None
    text: str
    most: str
    span: str


def charts(reader: CachedReader, node: TreeNode, clock: Clock = now) -> dict[FlavorPair, UsageChart]:
    """The charts of a Kueue node by pair; empty for other dialects. Raises ClusterError."""
    plural = {"ClusterQueue": "clusterqueues", "Cohort": "cohorts"}.get(node.key.kind)
    if node.dialect != "Kueue" or plural is None:
        return {}
    answer = reader.ask(f"/v1/{plural}/{path_part(node.name)}/history")
    found, read = {}, clock().timestamp()
    for each in answer["series"]:
        pair = FlavorPair(each["flavor"], each["resource"])
        found[pair] = _chart(pair, each["changes"], answer, node.amounts(pair), read)
    return found


def _chart(
    pair: FlavorPair, changes: list[Mapping[str, str]], answer: Mapping[str, Any], present: PairUsage, read: float
) -> UsageChart:
    """The chart of one pair.

    If the present usage is newer than the history, it is added as the last step. Times are in whole minutes, so that a
    page stays the same between two updates.
    """
    quota = present.quota
    moments = [datetime.fromisoformat(each["at"]).timestamp() for each in changes]
    used = [Quantity.parse(each["used"]).nano for each in changes]
    last = datetime.fromisoformat(answer["until"]).timestamp()
    seen = max(moments[-1], min(last + answer["stepSeconds"], read // _MINUTE * _MINUTE))
    if used[-1] != present.used:
        moments.append(seen)
        used.append(present.used)
    end = max(moments[-1] + _MINUTE, seen)
    span, most = end - moments[0], max(*used, quota or 0, 1)

    def height(value: int) -> float:
        return round(HEIGHT - _EDGE - (HEIGHT - 2 * _EDGE) * value / most, 1)

    points = []
    for at, until, value in zip(moments, [*moments[1:], end], used, strict=True):
        points += [f"{round(WIDTH * (each - moments[0]) / span, 1):g},{height(value):g}" for each in (at, until)]
    first, low, high, last_used = (amount(pair, each) for each in (used[0], min(used), max(used), used[-1]))
    text = f"{pair}: {first} used {_hours(span)} ago, {last_used} now, at least {low}, at most {high}"
    if quota is not None:
        text += f", quota {amount(pair, quota)}"
    top = amount(pair, max(*used, quota or 0))
    return UsageChart(" ".join(points), None if quota is None else height(quota), text, top, f"{_hours(span)} ago")


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.0f} h" if seconds >= 2 * 3600 else f"{seconds / 60:.0f} min"
