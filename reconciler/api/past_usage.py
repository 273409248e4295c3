"""The usage of a node in the last day, from the reconciler's metrics in Prometheus. It survives restarts."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from cluster.errors import ClusterError
from policies.dialects.reading import listing, mapping, text
from policies.model.quantity import Quantity
from reconciler.api.history import STEP, STEPS, history_document
from scheduling.objects.amounts import FlavorResource

log = logging.getLogger(__name__)
_QUEUE = ("kueue_cluster_queue_resource_reservation", "cluster_queue")
_COHORT = ("kueue_cohort_subtree_resource_reservations", "cohort")
"""The metric, and the label with the name of the node. The metric of Cohorts has no samples while the amount is 0."""
_NANO = 10**9
_PAUSE = 60.0
"""Seconds without queries after a failed one, so that pages do not wait for a server that is down."""


class PastUsage:
    """Queries Prometheus for the history of one node. Any thread may call it.

    `get`: gets a path with parameters, like the method of ClusterClient.
    `match`: labels that the samples must have, for a Prometheus with several clusters.
    `clock`: returns the seconds since 1970.
    """

    def __init__(
        self,
        get: Callable[[str, Mapping[str, str]], Mapping[str, Any]],
        match: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._get = get
        self._match = dict(match or {})
        self._clock = clock
        self._resumes = 0.0

    def of(self, is_queue: bool, name: str) -> dict[str, Any] | None:
        """The history as JSON; None if Prometheus has none or does not answer."""
        now = self._clock()
        if now < self._resumes:
            return None
        last = int(now) // STEP
        metric, label = _QUEUE if is_queue else _COHORT
        wanted = ", ".join(f"{key}={json.dumps(value)}" for key, value in {**self._match, label: name}.items())
        parameters = {
            "query": f"max by (flavor, resource) ({metric}{{{wanted}}})",
            "start": str((last - STEPS + 1) * STEP),
            "end": str(last * STEP),
            "step": str(STEP),
        }
        try:
            answer = self._get("/api/v1/query_range", parameters)
        except (ClusterError, OSError) as error:  # OSError: the file with the token may be missing
            log.warning("Prometheus does not say what was used in the last day: %s", error)
            self._resumes = now + _PAUSE
            return None
        series = {}
        for each in listing(mapping(answer.get("data")).get("result")):
            labels = mapping(mapping(each).get("metric"))
            pair = FlavorResource(text(labels.get("flavor")) or "", text(labels.get("resource")) or "")
            if changes := list(_changes(listing(mapping(each).get("values")), last, fill=not is_queue)):
                series[pair] = changes
        return history_document(is_queue, name, last, series) if series else None


def _changes(samples: list[Any], last: int, *, fill: bool) -> Iterator[tuple[int, str]]:
    """The steps at which the amount changed. `fill`: a step without a sample is 0, and not as the step before."""
    found = dict(filter(None, map(_sample, samples)))
    before = None
    for step in range(min(found, default=last + 1), last + 1):
        amount = found.get(step, 0 if fill else before)
        if amount is not None and amount != before:
            yield step, str(Quantity.of_nano(amount))
            before = amount


def _sample(found: Any) -> tuple[int, int] | None:
    """The step and the amount in billionths; None if the sample is not a number."""
    try:
        moment, value = found
        return int(moment) // STEP, int(Decimal(value) * _NANO)
    except (TypeError, ValueError, OverflowError, InvalidOperation):
        return None
