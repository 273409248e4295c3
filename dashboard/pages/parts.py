"""A part of a page that other rights open, or another server: without it the rest is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from cluster.errors import ApiError, ClusterError, Forbidden, NotFound, Unauthorized

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Part(Generic[T]):
    """`error` says why there is no `value`."""

    value: T | None = None
    error: ClusterError | None = None

    @property
    def absent(self) -> bool:
        """Nobody here has it: a server that is not configured, a kind that is not installed."""
        return isinstance(self.error, NotFound)

    @property
    def denied(self) -> bool:
        """Other rights open it."""
        return isinstance(self.error, Forbidden)

    @property
    def why(self) -> str:
        return self.error.message if isinstance(self.error, ApiError) and self.error.message else str(self.error)


def part(read: Callable[[], T]) -> Part[T]:
    """Read one part of a page, or keep its error.

    Raises Unauthorized, since then no other part could be read either.
    """
    try:
        return Part(read())
    except Unauthorized:
        raise
    except ClusterError as error:
        return Part(error=error)
