"""How long to wait before the next attempt, and whether there should be one."""

import random
from dataclasses import dataclass, field

from cluster.errors import ApiError, ClusterError, Unreachable

_CHANCE = random.Random()  # noqa: S311 - draws waiting times, no secrets; one for all, since each asks for entropy
# A server that asks for more than this is asked again anyway.
LONGEST_RETRY_AFTER = 120.0


@dataclass
class Backoff:
    """Waiting times that double from `first` to `longest` seconds, each drawn at random below its bound.

    The draw keeps many clients from coming back in step after an outage; `first` is also the least wait,
    so that no draw makes a busy loop.
    """

    first: float = 0.5
    longest: float = 30.0
    chance: random.Random = field(default_factory=lambda: _CHANCE)
    _failures: int = 0

    def next(self, retry_after: float | None = None) -> float:
        """Seconds to wait now; never less than the server asked for, up to LONGEST_RETRY_AFTER."""
        self._failures += 1
        bound = min(self.longest, self.first * 2.0 ** min(self._failures, 32))
        asked = min(retry_after or 0.0, LONGEST_RETRY_AFTER)
        return max(self.chance.uniform(min(self.first, bound), bound), asked)

    def reset(self) -> None:
        """After a success: the next failure waits briefly again."""
        self._failures = 0


def may_repeat(error: ClusterError, *, idempotent: bool) -> bool:
    """Whether the same request can be sent again without doing its work twice.

    Safe for every request: one that never left, and 429, which is answered before anything is done.
    """
    if isinstance(error, Unreachable):
        return idempotent or not error.sent
    if isinstance(error, ApiError):
        return error.status == 429 or (idempotent and error.status in (502, 503, 504))
    return False


def asked_wait(error: ClusterError) -> float | None:
    """The wait that the server asked for, in seconds."""
    return error.retry_after if isinstance(error, ApiError) else None
