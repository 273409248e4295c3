"""The states of one Volcano queue, and what each action makes of them.

Source: Volcano, pkg/controllers/queue/state; its vcctl names the actions.
"""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    OPEN = "Open"
    CLOSED = "Closed"
    CLOSING = "Closing"
    UNKNOWN = "Unknown"


class Action(StrEnum):
    OPEN = "OpenQueue"
    CLOSE = "CloseQueue"
    SYNC = "SyncQueue"


SHUT = frozenset([State.CLOSED, State.CLOSING])
"""The states of a queue that was asked to take no more work."""


def handler_of(stored: str) -> State | None:
    """Which state is in force; a new queue has none yet and is open. None for a name that nobody knows."""
    if not stored:
        return State.OPEN
    return State(stored) if stored in set(State) else None


def next_state(in_force: State, action: Action, stored: str, *, work: bool) -> State:
    """The state to be written. `stored` is status.state as it stands, `work`: something is left in the queue.

    The two differ where somebody wrote the status meanwhile: a sync then follows what is stored.
    """
    drained = State.CLOSING if work else State.CLOSED
    if action is Action.OPEN:
        return State.OPEN
    if action is Action.CLOSE:
        return State.CLOSED if in_force is State.CLOSED else drained
    if stored == State.OPEN or (not stored and in_force is State.OPEN):
        return State.OPEN
    if in_force is State.CLOSED and stored == State.CLOSED:
        return State.CLOSED
    follows = State.CLOSING if in_force is State.CLOSING else State.CLOSED
    return drained if stored == follows else State.UNKNOWN
