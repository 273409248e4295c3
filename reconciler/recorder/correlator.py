"""Collects Events and limits how many are written. The reasons are Kueue's.

An Event that repeats within a short time is counted, and written once after that time. All Events together have a limit
for their rate. So thousands of objects in a cycle of Cohorts, or a Workload that is tried each second, cause no flood.
An Event that is lost in a restart does no harm, because the conditions of objects show their present state.
Source: Kueue v0.19, the reasons of pkg/scheduler and pkg/controller/core.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cluster.actions import Create
from cluster.resource import EVENTS
from policies.model.printing import plain
from reconciler.objects.wanted import ObjectReference
from scheduling.objects import times
from scheduling.objects.times import SECOND

MANAGER = "kueue-events"
TRACE = "quotree.dev/trace"
"""The annotation with the trace id of a Workload."""
NORMAL, WARNING = "Normal", "Warning"
QUIET = 5 * 60 * SECOND
"""How long an equal Event on the same object is not written again, as in the recorder of Kubernetes."""
PAUSE = 10 * SECOND
"""The same for another message with the same reason. After that time the last message is written."""
RATE, BURST = 20, 200
"""Events per second, and the burst after a pause. Kueue emits two for each admission."""
_TRICKLE = SECOND // 4
"""The time between two Events while many other writes are in flight. Afterwards the saved burst may be used at once."""
_BACKLOG = 2000
_REMEMBERED = 10_000
"""How many series of Events are remembered."""
_COMPONENT = "kueue"  # the source of the Events
_LONGEST = 1024
"""The most characters of a message that the API server accepts."""
_ELSEWHERE = "default"
"""The namespace of Events about cluster-scoped objects."""


class _Subject(NamedTuple):
    about: ObjectReference
    reason: str
    type: str


@dataclass(slots=True)
class _Series:
    """The Events on one object with one reason.

    `said`: the message that was written last.
    `written`: when that was; 0 for never.
    `count`: the number of Events that are not written yet.
    """

    message: str
    first: int
    last: int
    said: str = ""
    written: int = 0
    count: int = 0

    def may_be_written(self, now: int) -> bool:
        quiet = QUIET if self.message == self.said else PAUSE
        return not self.written or now >= self.written + quiet


@dataclass
class EventCorrelator:
    """Collects Events and returns those to write.

    `dropped`: the number of Events that were recorded but never written.
    """

    dropped: int = 0
    _series: dict[_Subject, _Series] = field(default_factory=dict)
    _waiting: deque[_Subject] = field(default_factory=deque)
    _budget: float = BURST
    _filled: int = 0
    _last_written: int = 0
    _named: int = 0

    def record(self, about: ObjectReference, reason: str, message: str, now: int, *, warning: bool = False) -> bool:
        """Record an Event. `now` is in nanoseconds. Returns whether it differs from the last one of its series."""
        subject = _Subject(about, reason, WARNING if warning else NORMAL)
        known = self._series.pop(subject, None)
        new = known is None or known.message != message or now >= known.last + QUIET
        series = known or _Series(message, now, now)
        self._series[subject] = series  # moves it to the end, so that it is forgotten last
        if not series.count:
            series.first = now
            self._waiting.append(subject)
        series.message, series.last = message, now
        series.count += 1
        self._forget()
        return new

    def due(self, now: int, *, calm: bool = True) -> list[Create]:
        """The Events that may be written now, in the order in which they were recorded.

        `calm`: whether few other writes are in flight. Otherwise Events are written less often.
        """
        self._refill(now)
        if not calm and now < self._last_written + _TRICKLE:
            return []
        found, quiet = list[Create](), deque[_Subject]()
        while self._waiting and self._budget >= 1 and (calm or not found):
            subject = self._waiting.popleft()
            series = self._series[subject]
            if series.may_be_written(now):
                found.append(self._create(subject, series, now))
                self._budget -= 1
            else:
                quiet.append(subject)
        self._waiting.extendleft(reversed(quiet))
        if found:
            self._last_written = now
        return found

    def _refill(self, now: int) -> None:
        passed = max(0, now - (self._filled or now))  # a clock may be set back
        self._budget = min(BURST, self._budget + passed * RATE / SECOND)
        self._filled = now

    def _forget(self) -> None:
        """Limit the memory: drop the Events that have waited longest, and forget the oldest series."""
        while len(self._waiting) > _BACKLOG:
            series = self._series.pop(self._waiting.popleft())
            self.dropped += series.count
        while len(self._series) > _REMEMBERED:
            subject = next(iter(self._series))
            series = self._series.pop(subject)
            if series.count:
                self._waiting.remove(subject)
                self.dropped += series.count

    def _create(self, subject: _Subject, series: _Series, now: int) -> Create:
        self._named = max(now, self._named + 1)  # no two Events may have the same name
        body = _body(subject, series, f"{subject.about.name[:200]}.{self._named:x}")
        series.said, series.count, series.written = series.message, 0, now
        return Create(EVENTS, body, MANAGER)


def _body(subject: _Subject, series: _Series, name: str) -> dict[str, Any]:
    about, namespace = subject.about, subject.about.namespace or _ELSEWHERE
    annotations = {"annotations": {TRACE: about.trace}} if about.trace else {}
    involved: Mapping[str, str] = {
        "apiVersion": about.api_version,
        "kind": about.kind,
        "namespace": about.namespace,
        "name": about.name,
        "uid": about.uid,
        "resourceVersion": about.version,
    }
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace, **annotations},
        "involvedObject": {key: value for key, value in involved.items() if value},
        "reason": subject.reason,
        "message": _shortened(plain(series.message)),
        "type": subject.type,
        "count": series.count,
        "firstTimestamp": times.rfc3339(series.first),
        "lastTimestamp": times.rfc3339(series.last),
        "source": {"component": _COMPONENT},
        "reportingComponent": _COMPONENT,
    }


def _shortened(message: str) -> str:
    return message if len(message) <= _LONGEST else message[: _LONGEST - 3] + "..."
