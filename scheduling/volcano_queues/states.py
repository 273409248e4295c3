"""The states of a Volcano queue, and the next state after each action.

Source: Volcano, pkg/controllers/queue/state; its vcctl names the actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from scheduling.volcano_queues.queue_object import TOP, QueueObject


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


@dataclass(frozen=True, slots=True)
class WantedQueue:
    """The state that a queue should have."""

    state: VolcanoQueueState
    closed_by_parent: bool


class OperationRefused(Exception):
    """The action is refused. The message says why."""


def wanted_state(
    queue: QueueObject, above: VolcanoQueueState, action: QueueAction = QueueAction.SYNC, *, work: bool = False
) -> WantedQueue:
    """The state that the queue should have, from the requested action and the state of its parent.

    A queue is Closing until all its children are Closed. A queue that was closed with its parent has Volcano's
    annotation and opens with the parent. If a user closes it, also afterwards, it loses the annotation and stays
    closed. The stored state is enough to decide, so the next process continues after a crash.

    work: whether it has work, or a child that is not closed.

    Raises OperationRefused if the state of the queue or of its parent does not allow the action.
    """
    in_force = handler_of(queue.state) or VolcanoQueueState.UNKNOWN
    by_parent = queue.closed_by_parent
    if queue.name == TOP and action is QueueAction.CLOSE:
        raise OperationRefused("root cannot be closed")
    if action is QueueAction.OPEN and queue.deleting:
        raise OperationRefused("it is being deleted")
    if action is QueueAction.OPEN and above in SHUT:
        raise OperationRefused(f"its parent {queue.parent} is {above}")
    if action is not QueueAction.SYNC:
        by_parent = False
    elif queue.deleting:
        action = QueueAction.CLOSE
    elif above in SHUT and in_force not in SHUT:
        action, by_parent = QueueAction.CLOSE, True
    elif above is VolcanoQueueState.OPEN and by_parent:
        action, by_parent = QueueAction.OPEN, False
    return WantedQueue(next_state(in_force, action, queue.state, work=work), by_parent)
