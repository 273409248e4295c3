"""The next state of a Volcano queue in its tree: from what was asked of it, and what its parent is.

Children settle first: a queue is Closing until all its children are Closed. A queue that its parent closed carries
Volcano's annotation and opens with it; one that a user closed does not, also where the parent had closed it before.
Everything follows from what is stored, so the next process goes on after a crash.
"""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.volcano_queues.queue_object import TOP, QueueObject
from scheduling.volcano_queues.states import SHUT, QueueAction, VolcanoQueueState, handler_of, next_state


@dataclass(frozen=True, slots=True)
class WantedQueue:
    """What a queue is to be."""

    state: VolcanoQueueState
    closed_by_parent: bool


class OperationRefused(Exception):
    """Why a queue does not do what was asked of it."""


def wanted(
    queue: QueueObject, above: VolcanoQueueState, action: QueueAction = QueueAction.SYNC, *, work: bool = False
) -> WantedQueue:
    """What the queue is to be. `above` is the state of its parent, `work`: something is in it or open below.

    Raises OperationRefused where the action cannot be done as the queue is, or its parent.
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
