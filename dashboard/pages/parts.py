"""Building blocks of pages: parts that need other rights or another server, and tiles with large numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from cluster.errors import ApiError, ClusterError, Forbidden, NotFound, Unauthorized
from dashboard.pages.formatting import UsageBar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Part(Generic[T]):
    """A part of a page. `error`: why there is no `value`."""

    value: T | None = None
    error: ClusterError | None = None

    @property
    def absent(self) -> bool:
        """Whether it does not exist for any user, such as if a server is not configured or a kind is not installed."""
        return isinstance(self.error, NotFound)

    @property
    def denied(self) -> bool:
        """Whether the user lacks the rights to see it."""
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
    """A large number at the top of a page.

    `what`: its label. `url`: the place where it is explained. `state`: the CSS class of its color, such as `bad` for a
    number that should be 0. `bar`, `share`: a usage bar below it.
    """

    value: int | str
    what: str
    url: str = ""
    state: str = ""
    bar: UsageBar | None = None
    share: str = ""


def pending_tile(number: int, url: str = "") -> Tile:
    return Tile(number, "pending", url, "pending" if number else "")
