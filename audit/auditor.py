"""Audits all stored objects when they change, and on a schedule, since exemptions and other dates expire."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from datetime import UTC, datetime

from audit.metrics import AuditMetrics
from cluster.store import Store
from policies.audit.audited import Audit, audit
from policies.configuration.settings import Configuration
from policies.model.findings import Severity
from policies.model.forest import Forest

log = logging.getLogger(__name__)
SHORTEST_PAUSE = 2.0
"""The minimum number of seconds between two audits. Changes in this time are judged together."""
PAUSE_FACTOR = 10.0
"""The pause after an audit, as a multiple of its duration, so that audits use at most about a tenth of a core."""


class Auditor:
    """Audits the stored objects. One thread calls `step` in a loop; any thread may read `last`.

    No change is lost: the audited state is compared with the current state, not with events.

    `interval`: the seconds after which unchanged objects are audited again.
    `baseline`: the fingerprints of findings that are only counted.
    `last`: the last audit; None before the first.
    """

    def __init__(
        self,
        cache: Store,
        configuration: Configuration,
        interval: float,
        metrics: AuditMetrics,
        baseline: Collection[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.last: Audit | None = None
        self._cache = cache
        self._configuration = configuration
        self._interval = interval
        self._metrics = metrics
        self._baseline = baseline
        self._clock = clock
        self._audited_forest: Forest | None = None
        self._ended_at = float("-inf")
        self._next_at = float("-inf")

    def age(self) -> float | None:
        """Seconds since the last audit ended; None before the first."""
        return None if self.last is None else self._clock() - self._ended_at

    def step(self) -> bool:
        """Audit if an audit is due. Returns whether there is a new one."""
        began = self._clock()
        if began < self._next_at or self._cache.lacking():
            return False
        forest = self._cache.forest()
        if forest is self._audited_forest and began - self._ended_at < self._interval:
            return False
        try:
            found = audit(forest, self._configuration, datetime.now(UTC)).without(self._baseline)
        except Exception:
            # The process continues. The age of the last audit shows the failure.
            log.exception("what is stored could not be audited: internal error")
            self._metrics.failed()
            self._next_at = self._clock() + self._interval
            return False
        self.last, self._audited_forest, self._ended_at = found, forest, self._clock()
        for failed in (each for each in found.not_evaluated if each.error):
            log.error("rule %s failed: internal error", failed.rule.id, exc_info=failed.error)
        if any(each.error for each in found.not_evaluated):
            self._metrics.failed()
        took = self._ended_at - began
        self._next_at = self._ended_at + max(SHORTEST_PAUSE, took * PAUSE_FACTOR)
        self._metrics.audited(took)
        _log(found, took)
        return True


def _log(found: Audit, took: float) -> None:
    fields = {
        "objects": found.objects,
        "trees": sum(tree.root is not None for tree in found.trees),
        **{f"{severity.value}s": found.count(severity) for severity in (Severity.ERROR, Severity.WARNING)},
        "info": found.count(Severity.INFO),
        "baselined": len(found.baselined),
        "not_evaluated": len(found.not_evaluated),
        "seconds": round(took, 3),
    }
    log.info("audited", extra={"fields": fields})
