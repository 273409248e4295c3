"""What pages are made of: parts that other rights or another server open, and large numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from cluster.errors import ApiError, ClusterError, Forbidden, NotFound, Unauthorized
from dashboard.pages.formatting import UsageBar

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


class Tile(NamedTuple):
    """A large number at the top of a page. `url`: where it is explained. `state`: the class of its color; `bad` for one
    that should be 0 and is not."""

    value: int | str
    what: str
    url: str = ""
    state: str = ""
    bar: UsageBar | None = None
    share: str = ""


def pending_tile(number: int, url: str = "") -> Tile:
    return Tile(number, "pending", url, "pending" if number else "")
