"""A span as a value, and the interface of recorders. Code that records spans depends on no library."""

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
    """The span above. `sampled`: what another program decided about the whole trace; None: it is a span of ours."""

    span: str
    sampled: bool | None = None


class TraceSpan(NamedTuple):
    """What took from `began` to `ended`, in nanoseconds since 1970. `links`: spans of other traces that explain it.

    `failed`: what went wrong; empty where nothing did. `serves`: it answers another program.
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
    """May be called from any thread. Waits for nothing, and raises nothing."""

    def record(self, span: TraceSpan, /) -> None:
        """Take a span that is over."""

    def close(self) -> None:
        """Send what is left, within two seconds."""
