"""A span as a value, and the interface of recorders. Code that records spans needs no library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

Attribute: TypeAlias = str | bool | int | Sequence[str]
_NOTHING: Mapping[str, Attribute] = {}


class SpanContext(NamedTuple):
    """The ids of a span: that of its trace (32 hexadecimal digits) and its own (16)."""

    trace: str
    span: str


class Parent(NamedTuple):
    """The parent span. `sampled`: whether another program samples the trace; None if the parent is Quotree's span."""

    span: str
    sampled: bool | None = None


class TraceSpan(NamedTuple):
    """A finished span.

    `began`, `ended`: nanoseconds since 1970.
    `links`: related spans of other traces.
    `failed`: the error; empty if there was none.
    `serves`: whether the span is about a response to another program (span kind SERVER).
    """

    name: str
    context: SpanContext
    began: int
    ended: int
    attributes: Mapping[str, Attribute] = _NOTHING
    parent: Parent | None = None
    links: Sequence[SpanContext] = ()
    failed: str = ""
    serves: bool = False


class SpanRecorder(Protocol):
    """Records spans. Any thread may call it. `record` never blocks and never raises."""

    def record(self, span: TraceSpan, /) -> None:
        """Record a finished span."""

    def close(self) -> None:
        """Send the remaining spans, within two seconds."""
