"""The state machine of one queue."""

from __future__ import annotations

import pytest

from scheduling.volcano_queues.states import QueueAction, VolcanoQueueState, handler_of, next_state
from tests.profiles import each_case

OPEN, CLOSED, CLOSING, UNKNOWN = VolcanoQueueState


@pytest.mark.parametrize("in_force", VolcanoQueueState)
@pytest.mark.parametrize("work", [False, True])
def test_open_opens_every_queue(in_force: VolcanoQueueState, work: bool) -> None:
    assert next_state(in_force, QueueAction.OPEN, in_force, work=work) is OPEN


@pytest.mark.parametrize("in_force", [OPEN, CLOSING, UNKNOWN])
def test_close_sets_closing_while_the_queue_has_work(in_force: VolcanoQueueState) -> None:
    assert next_state(in_force, QueueAction.CLOSE, in_force, work=True) is CLOSING
    assert next_state(in_force, QueueAction.CLOSE, in_force, work=False) is CLOSED


def test_a_closed_queue_with_work_stays_closed() -> None:
    assert next_state(CLOSED, QueueAction.CLOSE, CLOSED, work=True) is CLOSED
    assert next_state(CLOSED, QueueAction.SYNC, CLOSED, work=True) is CLOSED


@each_case(
    ("in_force", "stored", "idle", "busy"),
    [
        (OPEN, "", OPEN, OPEN),
        (OPEN, "Closed", CLOSED, CLOSING),
        (OPEN, "Closing", UNKNOWN, UNKNOWN),
        (CLOSED, "", UNKNOWN, UNKNOWN),
        (CLOSED, "Open", OPEN, OPEN),
        (CLOSED, "Closing", UNKNOWN, UNKNOWN),
        (CLOSING, "Closing", CLOSED, CLOSING),
        (CLOSING, "Open", OPEN, OPEN),
        (CLOSING, "Closed", UNKNOWN, UNKNOWN),
        (UNKNOWN, "Unknown", UNKNOWN, UNKNOWN),
        (UNKNOWN, "Closed", CLOSED, CLOSING),
        (UNKNOWN, "x" * 10_000, UNKNOWN, UNKNOWN),
    ],
)
def test_sync_follows_the_stored_state(
    in_force: VolcanoQueueState, stored: str, idle: VolcanoQueueState, busy: VolcanoQueueState
) -> None:
    assert next_state(in_force, QueueAction.SYNC, stored, work=False) is idle
    assert next_state(in_force, QueueAction.SYNC, stored, work=True) is busy


def test_a_new_queue_is_open_and_an_unknown_state_has_no_handler() -> None:
    assert handler_of("") is OPEN
    assert handler_of("Closing") is CLOSING
    assert handler_of("open") is None
