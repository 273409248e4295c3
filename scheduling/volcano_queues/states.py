"""The states of a Volcano queue, and the next state after each action.

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
"""The states of a queue that takes no more work."""


def handler_of(stored: str) -> VolcanoQueueState | None:
    """The state in force. A new queue has no stored state and is open. None for an unknown name."""
    if not stored:
        return VolcanoQueueState.OPEN
    return VolcanoQueueState(stored) if stored in set(VolcanoQueueState) else None


def next_state(in_force: VolcanoQueueState, action: QueueAction, stored: str, *, work: bool) -> VolcanoQueueState:
    """The state to write.

    in_force: the state in force, as `handler_of` returned it.
    stored: the current status.state. It differs from `in_force` if another client wrote it; a sync then follows it.
    work: whether the queue still has work.
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
