"""The next state of a Volcano queue in its tree, from the requested action and the state of its parent.

A queue is Closing until all its children are Closed. A queue that was closed with its parent has Volcano's annotation
and opens with the parent. If a user closes it, also afterwards, it loses the annotation and stays closed. The stored
state is enough to decide, so the next process continues after a crash.
"""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.volcano_queues.queue_object import TOP, QueueObject
from scheduling.volcano_queues.states import SHUT, QueueAction, VolcanoQueueState, handler_of, next_state


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
    """The state that the queue should have.

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
