"""A recorder that keeps what is recorded."""

from __future__ import annotations

from cluster.tracing.span import Span


class Kept:
    def __init__(self) -> None:
        self.spans: list[Span] = []

    def record(self, span: Span) -> None:
        self.spans.append(span)

    def close(self) -> None:
        """Nothing is left."""

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]
