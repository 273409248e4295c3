"""What may be preempted in a queue, and what is left of its guarantee.

Source: YuniKorn core, `pkg/scheduler/objects/preemption.go`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from policies.dialects.yunikorn_config.resources import Amounts, filled, least, least_existing, minus_existing


class Level(NamedTuple):
    """A queue as preemption sees it. None means that there are no such amounts at all."""

    path: str
    allocated: Amounts | None = None
    guaranteed: Amounts | None = None
    preempting: Amounts | None = None

    @property
    def used(self) -> Amounts | None:
        """What is in use, without what is being preempted."""
        return minus_existing(self.allocated, self.preempting)

    @property
    def unused(self) -> Amounts | None:
        """What the queue is guaranteed and does not use; below 0 where it uses more."""
        return minus_existing(self.guaranteed, self.used)


def preemptable(path: Sequence[Level]) -> Amounts | None:
    """What the first queue uses above its guarantee, as far as the queues above it also exceed theirs.

    `path` has the queue first, then those above it. None where nothing is in use.
    """
    above: Amounts | None = None
    for level in reversed(path):
        if not level.allocated:
            above = None
            continue
        beyond = minus_existing(level.used, level.guaranteed) or {}
        own = {name: amount for name, amount in beyond.items() if amount > 0}
        above = least_existing(own, above) if own else own
    return above


def remaining_guaranteed(path: Sequence[Level], asking: Sequence[Level] = ()) -> Amounts | None:
    """What is left of the guarantee of the first queue, by type the least on its path; None without a guarantee.

    `asking` is the path of the queue that preempts, empty where there is none. The guarantee of that queue counts
    before those above it. Where it has one, the queues above it hold nothing against their children, so that siblings
    within the same guarantee are no longer protected by it.
    """
    asks = asking[0] if asking else None
    shared = {level.path for level in asking} if asks is not None and asks.unused else set()
    above: Amounts | None = None
    for level in reversed(path):
        own = level.unused
        if not own and not above:
            above = None
        elif own and asks is not None and level.path == asks.path:
            above = filled(own, above)
        elif own and level.path in shared:
            above = None
        else:
            above = least(own, above)
    return above
