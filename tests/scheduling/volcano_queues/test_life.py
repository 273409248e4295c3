"""What a queue becomes in its tree."""

from __future__ import annotations

import pytest

from scheduling.volcano_queues.life import Refused, Wanted, wanted
from scheduling.volcano_queues.queue_object import QueueObject
from scheduling.volcano_queues.states import Action, State

OPEN, CLOSED, CLOSING, UNKNOWN = State


def queue(state: str = "Open", *, by_parent: bool = False, deleting: bool = False, name: str = "q") -> QueueObject:
    return QueueObject(name, parent="p", state=state, closed_by_parent=by_parent, deleting=deleting)


@pytest.mark.parametrize("above", [CLOSED, CLOSING])
def test_an_open_queue_follows_a_parent_that_closes_and_remembers_who_closed_it(above: State) -> None:
    assert wanted(queue(), above) == Wanted(CLOSED, True)
    assert wanted(queue(), above, work=True) == Wanted(CLOSING, True)


def test_one_that_the_parent_closed_opens_with_it_and_one_that_a_user_closed_does_not() -> None:
    assert wanted(queue("Closed", by_parent=True), OPEN) == Wanted(OPEN, False)
    assert wanted(queue("Closing", by_parent=True), OPEN, work=True) == Wanted(OPEN, False)
    assert wanted(queue("Closed"), OPEN) == Wanted(CLOSED, False)


def test_a_user_who_closes_what_the_parent_has_closed_already_wins_over_a_later_open_of_the_parent() -> None:
    closed = wanted(queue("Closed", by_parent=True), CLOSED, Action.CLOSE)

    assert closed == Wanted(CLOSED, False)
    assert wanted(queue("Closed"), OPEN) == Wanted(CLOSED, False)


def test_no_queue_opens_below_a_closed_one() -> None:
    with pytest.raises(Refused, match="its parent p is Closing"):
        wanted(queue("Closed"), CLOSING, Action.OPEN)
    assert wanted(queue("Closed"), UNKNOWN, Action.OPEN) == Wanted(OPEN, False), "a missing parent is in nobody's way"


def test_nothing_follows_a_parent_of_which_nothing_is_known() -> None:
    assert wanted(queue(), UNKNOWN) == Wanted(OPEN, False)
    assert wanted(queue("Closed", by_parent=True), UNKNOWN) == Wanted(CLOSED, True)


def test_root_is_never_closed() -> None:
    with pytest.raises(Refused):
        wanted(queue(name="root"), OPEN, Action.CLOSE)


def test_a_queue_that_is_deleted_drains_and_does_not_open_again() -> None:
    assert wanted(queue(deleting=True), OPEN, work=True).state is CLOSING
    assert wanted(queue("Closing", deleting=True), OPEN) == Wanted(CLOSED, False)
    with pytest.raises(Refused):
        wanted(queue("Closed", deleting=True), OPEN, Action.OPEN)
