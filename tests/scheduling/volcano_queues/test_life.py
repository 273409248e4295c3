"""The wanted state of a queue in its tree."""

from __future__ import annotations

import pytest

from scheduling.volcano_queues.queue_object import QueueObject
from scheduling.volcano_queues.states import OperationRefused, QueueAction, VolcanoQueueState, WantedQueue, wanted_state

OPEN, CLOSED, CLOSING, UNKNOWN = VolcanoQueueState


def queue(state: str = "Open", *, by_parent: bool = False, deleting: bool = False, name: str = "q") -> QueueObject:
    return QueueObject(name, parent="p", state=state, closed_by_parent=by_parent, deleting=deleting)


@pytest.mark.parametrize("above", [CLOSED, CLOSING])
def test_an_open_queue_is_closed_with_its_parent_and_records_it(above: VolcanoQueueState) -> None:
    assert wanted_state(queue(), above) == WantedQueue(CLOSED, True)
    assert wanted_state(queue(), above, work=True) == WantedQueue(CLOSING, True)


def test_a_queue_closed_by_its_parent_opens_with_it_and_one_closed_by_a_user_does_not() -> None:
    assert wanted_state(queue("Closed", by_parent=True), OPEN) == WantedQueue(OPEN, False)
    assert wanted_state(queue("Closing", by_parent=True), OPEN, work=True) == WantedQueue(OPEN, False)
    assert wanted_state(queue("Closed"), OPEN) == WantedQueue(CLOSED, False)


def test_a_queue_closed_by_a_user_stays_closed_when_its_parent_opens() -> None:
    closed = wanted_state(queue("Closed", by_parent=True), CLOSED, QueueAction.CLOSE)

    assert closed == WantedQueue(CLOSED, False)
    assert wanted_state(queue("Closed"), OPEN) == WantedQueue(CLOSED, False)


def test_no_queue_opens_below_a_closed_one() -> None:
    with pytest.raises(OperationRefused, match="its parent p is Closing"):
        wanted_state(queue("Closed"), CLOSING, QueueAction.OPEN)
    assert wanted_state(queue("Closed"), UNKNOWN, QueueAction.OPEN) == WantedQueue(OPEN, False), (
        "a missing parent does not block it"
    )


def test_a_queue_does_not_follow_a_parent_of_unknown_state() -> None:
    assert wanted_state(queue(), UNKNOWN) == WantedQueue(OPEN, False)
    assert wanted_state(queue("Closed", by_parent=True), UNKNOWN) == WantedQueue(CLOSED, True)


def test_root_is_never_closed() -> None:
    with pytest.raises(OperationRefused):
        wanted_state(queue(name="root"), OPEN, QueueAction.CLOSE)


def test_a_terminating_queue_drains_and_cannot_be_opened() -> None:
    assert wanted_state(queue(deleting=True), OPEN, work=True).state is CLOSING
    assert wanted_state(queue("Closing", deleting=True), OPEN) == WantedQueue(CLOSED, False)
    with pytest.raises(OperationRefused):
        wanted_state(queue("Closed", deleting=True), OPEN, QueueAction.OPEN)
