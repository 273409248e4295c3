"""Makes the spans of a review. Not used while traces are off."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple, ParamSpec, TypeVar

from cluster.tracing.ids import trace_id
from cluster.tracing.span import Attribute, Parent, SpanContext, SpanRecorder, TraceSpan
from webhook.review import Review

P = ParamSpec("P")
T = TypeVar("T")
HEADER = "traceparent"
_PARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
"""The header as W3C Trace Context defines it. A later version may add fields."""
_STEPS = 16
"""The most steps of one review that get a span. A change with many open entries around it is judged hundreds of
times."""


class TimedStep(NamedTuple):
    """A step of the work; its times are in seconds of `perf_counter`."""

    name: str
    began: float
    ended: float


class ReviewTrace:
    """The trace of one review.

    `header`: the `traceparent` of the API server; ignored if it is malformed.
    """

    def __init__(self, header: str) -> None:
        found = _PARENT.fullmatch(header) if header else None
        self.rules: list[str] = []
        self._given = found[1] if found else ""
        self._parent = Parent(found[2], sampled=bool(int(found[3], 16) & 1)) if found else None
        self._id = secrets.token_hex(8)
        self._steps: list[TimedStep] = []

    def id(self, review: Review) -> str:
        """The id of the trace: the API server's, or else one made from the request's uid."""
        return self._given or trace_id(review.uid) or self._id * 2

    def timed(self, name: str, work: Callable[P, T]) -> Callable[P, T]:
        """The function, wrapped so that it records its duration. Any thread may call it."""

        def do(*args: P.args, **kwargs: P.kwargs) -> T:
            began = time.perf_counter()
            try:
                return work(*args, **kwargs)
            finally:
                if len(self._steps) < _STEPS:
                    self._steps.append(TimedStep(name, began, time.perf_counter()))

        return do

    def spans(self, review: Review, endpoint: str, verdict: str, failed: str, started: float) -> Iterator[TraceSpan]:
        """The spans of the review, which ends now, and of its steps. `started`: in seconds of `perf_counter`."""
        ended, now = time.time_ns(), time.perf_counter()

        def moment(reading: float) -> int:
            return ended - int((now - reading) * 1e9)

        trace = self.id(review)
        context = SpanContext(trace, self._id)
        about = _attributes(review, endpoint, verdict, self.rules)
        yield TraceSpan("review", context, moment(started), ended, about, self._parent, (), failed, serves=True)
        sampled = self._parent.sampled if self._parent is not None else None
        for step in self._steps:
            own = SpanContext(trace, secrets.token_hex(8))
            yield TraceSpan(step.name, own, moment(step.began), moment(step.ended), parent=Parent(self._id, sampled))


def record(recorder: SpanRecorder, spans: Iterator[TraceSpan]) -> None:
    for span in spans:
        recorder.record(span)


def _attributes(review: Review, endpoint: str, verdict: str, rules: list[str]) -> dict[str, Attribute]:
    found: dict[str, Attribute] = {
        "quotree.endpoint": endpoint,
        "quotree.uid": review.uid,
        "quotree.operation": str(review.operation),
        "quotree.kind": f"{review.kind.kind}.{review.kind.group}".rstrip("."),
        "quotree.namespace": review.namespace,
        "quotree.name": review.name,
        "quotree.dry_run": review.dry_run,
        "quotree.verdict": verdict,
    }
    return {**found, "quotree.rules": rules} if rules else found
