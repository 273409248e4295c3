"""The next state of a Volcano queue in its tree: from what was asked of it, and what its parent is.

Children settle first: a queue is Closing until all its children are Closed. A queue that its parent closed carries
Volcano's annotation and opens with it; one that a user closed does not, also where the parent had closed it before.
Everything follows from what is stored, so whoever comes after a crash goes on.
"""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.volcano_queues.queue_object import TOP, QueueObject
from scheduling.volcano_queues.states import SHUT, Action, State, handler_of, next_state


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a queue is to be."""

    state: State
    closed_by_parent: bool


class Refused(Exception):
    """Why a queue does not do what was asked of it."""


def wanted(queue: QueueObject, above: State, action: Action = Action.SYNC, *, work: bool = False) -> Wanted:
    """What the queue is to be. `above` is the state of its parent, `work`: something is in it or open below.

    Raises Refused where the action cannot be done as the queue is, or its parent.
    """
    in_force = handler_of(queue.state) or State.UNKNOWN
    by_parent = queue.closed_by_parent
    if queue.name == TOP and action is Action.CLOSE:
        raise Refused("root cannot be closed")
    if action is Action.OPEN and queue.deleting:
        raise Refused("it is being deleted")
    if action is Action.OPEN and above in SHUT:
        raise Refused(f"its parent {queue.parent} is {above}")
    if action is not Action.SYNC:
        by_parent = False
    elif queue.deleting:
        action = Action.CLOSE
    elif above in SHUT and in_force not in SHUT:
        action, by_parent = Action.CLOSE, True
    elif above is State.OPEN and by_parent:
        action, by_parent = Action.OPEN, False
    return Wanted(next_state(in_force, action, queue.state, work=work), by_parent)
