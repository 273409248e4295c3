"""Writes Events to the log, with the trace id of the Workload.

A burst may admit two thousand Workloads a second, so the rate is limited for each reason. Of a frequent reason some
Events are logged, with the number of those that were omitted before them.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from policies.model.objects import joined
from policies.model.printing import plain
from reconciler.objects.wanted import ObjectReference
from scheduling.objects.times import SECOND

log = logging.getLogger(__name__)
RATE, BURST = 20, 200
"""Lines per second for each reason, and the burst after a pause."""
_REASONS = 200
"""The most reasons with a limit of their own. The others share one, because users who write a status may invent any."""


@dataclass(slots=True)
class _Budget:
    left: float
    filled: int
    omitted: int = 0


class Journal:
    """The log of Events. Times are in nanoseconds."""

    def __init__(self) -> None:
        self._budgets: dict[str, _Budget] = {}

    def note(self, about: ObjectReference, reason: str, message: str, now: int, *, warning: bool = False) -> None:
        """Log the Event, unless too many with this reason were logged."""
        budget = self._budget(reason, now)
        if budget.left < 1:
            budget.omitted += 1
            return
        budget.left -= 1
        name = joined(about.namespace, about.name)
        fields = {
            "reason": reason,
            "type": "Warning" if warning else "Normal",
            "object": f"{about.kind} {name}",
            **followed(about),
            **({"omitted": budget.omitted} if budget.omitted else {}),
        }
        budget.omitted = 0
        log.info("%s", plain(message), extra={"fields": fields})

    def _budget(self, reason: str, now: int) -> _Budget:
        budget = self._budgets.get(reason)
        if budget is None:
            shared = reason if len(self._budgets) < _REASONS else ""
            budget = self._budgets.setdefault(shared, _Budget(BURST, now))
        budget.left = min(BURST, budget.left + max(0, now - budget.filled) * RATE / SECOND)
        budget.filled = now
        return budget


def followed(about: ObjectReference | None) -> dict[str, str]:
    """Fields for log lines: the uid of the object, and the trace id of its Workload, if they are known."""
    if about is None:
        return {}
    found = {"uid": about.uid, "trace": about.trace}
    return {key: value for key, value in found.items() if value}
