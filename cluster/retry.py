"""When to repeat a failed request."""

import random
from dataclasses import dataclass, field

from cluster.errors import ApiError, ClusterError, Unreachable

_CHANCE = random.Random()  # noqa: S311 - for waiting times, not secrets; shared, since each instance reads entropy
# The longest Retry-After that is respected.
LONGEST_RETRY_AFTER = 120.0


@dataclass
class RandomBackoff:
    """Random waiting times below a bound that doubles from `first` to `longest` seconds.

    The randomness keeps many clients from returning at the same time after an outage. `first` is also the shortest
    wait, so that there is never a busy loop.
    """

    first: float = 0.5
    longest: float = 30.0
    chance: random.Random = field(default_factory=lambda: _CHANCE)
    _failures: int = 0

    def next(self, retry_after: float | None = None) -> float:
        """Seconds to wait now; at least `retry_after`, which counts up to LONGEST_RETRY_AFTER."""
        self._failures += 1
        bound = min(self.longest, self.first * 2.0 ** min(self._failures, 32))
        asked = min(retry_after or 0.0, LONGEST_RETRY_AFTER)
        return max(self.chance.uniform(min(self.first, bound), bound), asked)

    def reset(self) -> None:
        """Call after a success: the next failure waits briefly again."""
        self._failures = 0


def may_repeat(error: ClusterError, *, idempotent: bool) -> bool:
    """Whether the request can be sent again without taking effect twice.

    Any request is safe to repeat if it was never sent, or after a 429, which the API server returns before it acts. An
    eviction that a PodDisruptionBudget forbids is not repeated, since that state lasts.
    """
    if isinstance(error, Unreachable):
        return idempotent or not error.sent
    if isinstance(error, ApiError):
        throttled = error.status == 429 and not error.has_cause("DisruptionBudget")
        return throttled or (idempotent and error.status in (502, 503, 504))
    return False


def asked_wait(error: ClusterError) -> float | None:
    """The Retry-After of the response, in seconds."""
    return error.retry_after if isinstance(error, ApiError) else None
