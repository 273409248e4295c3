"""Collects Events on objects, with Kueue's reasons: what happened to the object and why.

Few Events are written. An Event that repeats within a short time is counted, and written once when that time is over;
all Events together are limited by a rate. So a tree of thousands in a cycle, or a Workload that is tried each second,
causes no flood. Events say what happened; conditions say what is. An Event that a restart loses does no harm.
Source: Kueue v0.19, the reasons of pkg/scheduler and pkg/controller/core.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cluster.actions import Create
from cluster.resource import Resource
from policies.model.printing import plain
from reconciler.objects.wanted import ObjectReference
from scheduling.objects import times
from scheduling.objects.times import SECOND

EVENTS = Resource("", "v1", "events", namespaced=True)
MANAGER = "kueue-events"
TRACE = "quotree.dev/trace"
"""The annotation with the trace id of a Workload."""
NORMAL, WARNING = "Normal", "Warning"
QUIET = 5 * 60 * SECOND
"""How long an equal Event about one object is not written again, as in Kubernetes' own recorder."""
PAUSE = 10 * SECOND
"""The same for another message with the same reason: the last of many is written then."""
RATE, BURST = 20, 200
"""Events per second, and the burst after a pause. Kueue emits two for each admission; a status is one write."""
_TRICKLE = SECOND // 4
"""The interval between two Events while many other writes are in flight; the saved ones are sent at once after that."""
_BACKLOG = 2000
_REMEMBERED = 10_000
"""The number of objects and reasons that are remembered."""
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
    """The Events about one object for one reason; `count` of them are not written yet."""

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
    """Collects Events and returns those that should be written.

    `source`: the component that emits the Events.
    `dropped`: the number of Events that were recorded and never written.
    """

    source: str = "kueue"
    dropped: int = 0
    _series: dict[_Subject, _Series] = field(default_factory=dict)
    _waiting: deque[_Subject] = field(default_factory=deque)
    _budget: float = BURST
    _filled: int = 0
    _given_out: int = 0
    _named: int = 0

    def record(self, about: ObjectReference, reason: str, message: str, now: int, *, warning: bool = False) -> bool:
        """Record an Event at this moment in nanoseconds. Returns whether it differs from the last one."""
        subject = _Subject(about, reason, WARNING if warning else NORMAL)
        known = self._series.pop(subject, None)
        new = known is None or known.message != message or now >= known.last + QUIET
        series = known or _Series(message, now, now)
        self._series[subject] = series  # the last one recorded is forgotten last
        if not series.count:
            series.first = now
            self._waiting.append(subject)
        series.message, series.last = message, now
        series.count += 1
        self._forget()
        return new

    def due(self, now: int, *, calm: bool = True) -> list[Create]:
        """The Events that may be written now, in the order in which they were recorded.

        `calm`: few other writes are in flight.
        """
        self._refill(now)
        if not calm and now < self._given_out + _TRICKLE:
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
            self._given_out = now
        return found

    def _refill(self, now: int) -> None:
        self._budget = min(BURST, self._budget + (now - (self._filled or now)) * RATE / SECOND)
        self._filled = now

    def _forget(self) -> None:
        """Keep within bounds: the Events that have waited longest are dropped, and the oldest series are forgotten."""
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
        self._named = max(now, self._named + 1)  # no two alike
        body = _body(subject, series, f"{subject.about.name[:200]}.{self._named:x}", self.source)
        series.said, series.count, series.written = series.message, 0, now
        return Create(EVENTS, body, MANAGER)


def _body(subject: _Subject, series: _Series, name: str, source: str) -> dict[str, Any]:
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
        "firstTimestamp": times.written(series.first),
        "lastTimestamp": times.written(series.last),
        "source": {"component": source},
        "reportingComponent": source,
    }


def _shortened(message: str) -> str:
    return message if len(message) <= _LONGEST else message[: _LONGEST - 3] + "..."
