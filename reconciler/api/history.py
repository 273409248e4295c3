"""The usage of each node in the last day, sampled every 5 minutes and kept in memory.

A series stores only the steps at which the amount changed, so a queue whose usage does not change costs 16 bytes. The
history begins with the process, and each replica has its own. For a history that survives restarts, see `past_usage`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

from policies.dialects.kueue import CLUSTER_QUEUE, COHORT
from scheduling.flavors.messages import amount_text as amount_of
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.times import SECOND
from scheduling.objects.times import rfc3339 as time_of
from scheduling.world.nodes import NodeName, NodeState, below

API_VERSION = "quotree.dev/v1alpha1"
STEP = 300
"""The seconds of a step."""
STEPS = 24 * 3600 // STEP
MOST = 10_000
"""The most series. A series is a node with a flavor and a resource. If all change at each step, a day takes 50 MB."""
_LARGEST = 2**63 - 1
_Series: TypeAlias = "array[int]"
"""Pairs in one array: the number of a step, and the amount from that step on."""


class UsageHistory:
    """The history. Many threads may read while one records, because `record` replaces the data as a whole."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._first = self._last = 0
        self._series: dict[NodeName, dict[FlavorResource, _Series]] = {}

    def due(self, now: float) -> bool:
        """Whether a new step has begun since the last sample. `now`: seconds since 1970."""
        return int(now) // STEP > self._last

    def record(self, states: Iterable[NodeState], now: float) -> None:
        """Take a sample of all nodes. If there are too many series, Cohorts come first, then the first names."""
        self._first = self._first or int(now)  # the first step is shorter, because the process started within it
        step, series = int(now) // STEP, dict[NodeName, dict[FlavorResource, _Series]]()
        for name, pair, amount in islice(_used(list(states)), self._most):
            before = self._series.get(name, {}).get(pair, array("q"))
            series.setdefault(name, {})[pair] = _appended(before, step, min(amount, _LARGEST))
        self._series, self._last = series, step

    def of(self, is_queue: bool, name: str) -> dict[str, Any]:
        """The history of a node as JSON. Raises KeyError if there is none."""
        found, last = self._series[(is_queue, name)], self._last
        series = {
            pair: [(at, amount_of(pair.resource, amount)) for at, amount in zip(steps[::2], steps[1::2], strict=True)]
            for pair, steps in found.items()
        }
        return history_document(is_queue, name, last, series, self._first)


def history_document(
    is_queue: bool, name: str, last: int, series: Mapping[FlavorResource, Sequence[tuple[int, str]]], first: int = 0
) -> dict[str, Any]:
    """The response of /v1.

    `last`: the number of the last step.
    `series`: the steps at which an amount changed, with the quantity from then on.
    `first`: the time of the first sample, in seconds. Nothing is known before it.
    """
    return {
        "apiVersion": API_VERSION,
        "kind": "UsageHistory",
        "node": {"kind": (CLUSTER_QUEUE if is_queue else COHORT).kind, "name": name},
        "stepSeconds": STEP,
        "until": _time(last, first),
        "series": [
            {
                "flavor": pair.flavor,
                "resource": pair.resource,
                "changes": [{"at": _time(at, first), "used": used} for at, used in changes],
            }
            for pair, changes in series.items()
        ],
    }


def _used(states: list[NodeState]) -> Iterator[tuple[NodeName, FlavorResource, int]]:
    """The usage of each node, for each pair with quota or usage."""
    sums = below(states)
    for state in sorted(states, key=lambda each: (each.is_queue, each.name)):
        uses = (sums.queues if state.is_queue else sums.cohorts).get(state.name, {})
        for pair in sorted({*state.terms, *state.subtree, *uses}):
            yield (state.is_queue, state.name), pair, uses[pair].used if pair in uses else 0


def _appended(before: _Series, step: int, amount: int) -> _Series:
    """The series with one more step. Steps that ended more than a day ago are removed."""
    first = step - STEPS + 1
    old = 0
    while old + 2 < len(before) and before[old + 2] <= first:
        old += 2
    kept = before[old:]
    if kept and kept[0] < first:
        kept[0] = first
    if not kept or kept[-1] != amount:
        kept.extend((step, amount))
    return kept


def _time(step: int, first: int) -> str:
    return time_of(max(step * STEP, first) * SECOND)
