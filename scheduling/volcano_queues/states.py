"""The states of one Volcano queue, and what each action makes of them.

Source: Volcano, pkg/controllers/queue/state; its vcctl names the actions.
"""

from __future__ import annotations

from enum import StrEnum


class VolcanoQueueState(StrEnum):
    OPEN = "Open"
    CLOSED = "Closed"
    CLOSING = "Closing"
    UNKNOWN = "Unknown"


class QueueAction(StrEnum):
    OPEN = "OpenQueue"
    CLOSE = "CloseQueue"
    SYNC = "SyncQueue"


SHUT = frozenset([VolcanoQueueState.CLOSED, VolcanoQueueState.CLOSING])
"""The states of a queue that was asked to take no more work."""


def handler_of(stored: str) -> VolcanoQueueState | None:
    """Which state is in force; a new queue has none yet and is open. None for a name that nobody knows."""
    if not stored:
        return VolcanoQueueState.OPEN
    return VolcanoQueueState(stored) if stored in set(VolcanoQueueState) else None


def next_state(in_force: VolcanoQueueState, action: QueueAction, stored: str, *, work: bool) -> VolcanoQueueState:
    """The state to be written. `stored` is status.state as it stands, `work`: something is left in the queue.

    The two differ where somebody wrote the status meanwhile: a sync then follows what is stored.
    """
    drained = VolcanoQueueState.CLOSING if work else VolcanoQueueState.CLOSED
    if action is QueueAction.OPEN:
        return VolcanoQueueState.OPEN
    if action is QueueAction.CLOSE:
        return VolcanoQueueState.CLOSED if in_force is VolcanoQueueState.CLOSED else drained
    if stored == VolcanoQueueState.OPEN or (not stored and in_force is VolcanoQueueState.OPEN):
        return VolcanoQueueState.OPEN
    if in_force is VolcanoQueueState.CLOSED and stored == VolcanoQueueState.CLOSED:
        return VolcanoQueueState.CLOSED
    follows = VolcanoQueueState.CLOSING if in_force is VolcanoQueueState.CLOSING else VolcanoQueueState.CLOSED
    return drained if stored == follows else VolcanoQueueState.UNKNOWN
