"""Judges everything that is stored: when it has changed, and on a schedule, since exemptions and other dates pass."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from typing import Protocol

from audit.metrics import AuditMetrics
from policies.audit.audited import Audit, audit
from policies.configuration.settings import Configuration
from policies.model.findings import Severity
from policies.model.forest import Forest

log = logging.getLogger(__name__)
SHORTEST = 2.0
"""Seconds between two audits, at the least: changes that come within them are judged together."""
SHARE = 10.0
"""The pause after an audit, as a multiple of the audit's own time: audits take a tenth of a core at most."""


class StoredObjects(Protocol):
    """What is stored, as far as it is known."""

    def forest(self) -> Forest: ...

    def lacking(self) -> list[str]:
        """What was not read yet, in words; nothing is judged until then."""


class Auditor:
    """`step` is called again and again by one thread; `last` may be read by any. `baseline` has the fingerprints of
    findings that are only counted.

    Nothing is lost: the audited state is compared with the current state, not with events.
    """

    def __init__(
        self,
        cache: StoredObjects,
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
        self._judged: Forest | None = None
        self._ended = float("-inf")
        self._rested = float("-inf")

    def age(self) -> float | None:
        """Seconds since the last audit ended; None before the first."""
        return None if self.last is None else self._clock() - self._ended

    def step(self) -> bool:
        """Judge where that is due; whether there is a new audit."""
        began = self._clock()
        if began < self._rested or self._cache.lacking():
            return False
        forest = self._cache.forest()
        if forest is self._judged and began - self._ended < self._interval:
            return False
        try:
            found = audit(forest, self._configuration, datetime.now(UTC)).without(self._baseline)
        except Exception:
            # The rest of the process goes on; the age of the last audit shows it.
            log.exception("what is stored could not be audited: internal error")
            self._metrics.failed()
            self._rested = self._clock() + self._interval
            return False
        self.last, self._judged, self._ended = found, forest, self._clock()
        for failed in (each for each in found.not_evaluated if each.error):
            log.error("rule %s failed: internal error", failed.rule.id, exc_info=failed.error)
        if any(each.error for each in found.not_evaluated):
            self._metrics.failed()
        took = self._ended - began
        self._rested = self._ended + max(SHORTEST, took * SHARE)
        self._metrics.audited(took)
        _say(found, took)
        return True


def _say(found: Audit, took: float) -> None:
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
