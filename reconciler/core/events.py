"""The events that the core processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from reconciler.objects.observed import Listed, Observed
from reconciler.objects.outcomes import Outcome
from reconciler.objects.workers import FromWorker


@dataclass(frozen=True, slots=True)
class LeadershipGained:
    """This process may write from now on.

    `late_writes`: whether writes of the previous leader may still arrive.
    `resumed`: whether this process was the previous leader, and no other process has written since.
    """

    late_writes: bool = False
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class LeadershipLost:
    """This process may no longer write."""


@dataclass(frozen=True, slots=True)
class TimePassed:
    """Begin a turn: do what is due by now, and decide."""


@dataclass(frozen=True, slots=True)
class Continue:
    """Continue the turn that has begun, see `Core.in_turn`."""


Event: TypeAlias = (
    Observed[object] | Listed | Outcome | FromWorker | LeadershipGained | LeadershipLost | TimePassed | Continue
)
