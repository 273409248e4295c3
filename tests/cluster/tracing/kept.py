"""A recorder that keeps what is recorded."""

from __future__ import annotations

from cluster.tracing.span import TraceSpan


class Kept:
    def __init__(self) -> None:
        self.spans: list[TraceSpan] = []

    def record(self, span: TraceSpan) -> None:
        self.spans.append(span)

    def close(self) -> None:
        """Nothing is left."""

    def named(self, name: str) -> list[TraceSpan]:
        return [span for span in self.spans if span.name == name]
