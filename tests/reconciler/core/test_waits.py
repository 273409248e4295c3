"""The end of a write or of a backoff wakes the items that wait for it; they are not checked before."""

from __future__ import annotations

from collections.abc import Iterator

from cluster.actions import Action, Patch
from cluster.errors import ApiError
from reconciler.core.controller import Busy, Controller, WaitFor, WakeAt, Wanted
from reconciler.core.informer import Waits
from reconciler.core.state import ClusterState
from reconciler.objects.observed import Key, Listed, Observed
from reconciler.objects.outcomes import Failed
from reconciler.objects.wanted import WantedWrite
from reconciler.objects.watched import by_kind
from reconciler.shell.loop import Loop
from scheduling.objects.times import SECOND
from tests.reconciler.checked import Asks, loop, without_events
from tests.reconciler.plain_queues import START, cluster_queue

WATCHED = by_kind()["ClusterQueue"]
KEY, ITEM = ("ClusterQueue", "q"), ("Item", "one")


class Waiting(Controller):
    """Wants one write, and looks at an item that waits for it. `looks`: when it looked, in seconds from the start."""

    def __init__(self, wait: WaitFor | WakeAt, write: bool = True) -> None:
        self.looks: list[int] = []
        self._wait, self._write, self._dirty = wait, write, True

    def wake(self, item: Key) -> None:
        assert item == ITEM
        self._dirty = True

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        if self._dirty:
            self._dirty = False
            self.looks.append((now - START) // SECOND)
            if self._write:
                self._write = False
                yield WantedWrite(KEY, Patch(WATCHED.resource, None, "q", {"spec": {}}, "1", "m"))
            if isinstance(self._wait, WakeAt) or busy(*KEY):
                yield self._wait


class Case:
    def __init__(self, wait: WaitFor | WakeAt, write: bool = True) -> None:
        self.now = START
        self.asked: list[tuple[Key, Action]] = []
        self.controller = Waiting(wait, write)
        asks = Asks(without_events(lambda key, action: self.asked.append((key, action))))
        self.loop: Loop = loop(asks, (self._made,), clock=lambda: self.now)
        for kind, watched in self.loop.core.informer.watched.items():
            manifest = cluster_queue("q", "", 1) | {"metadata": {"name": "q", "resourceVersion": "1"}}
            objects = (watched.observed(manifest),) if kind == "ClusterQueue" else ()
            self.loop.inbox.put(Listed(kind, objects, "1"))

    def _made(self, _: ClusterState) -> Waiting:
        return self.controller

    def rounds(self, number: int) -> list[int]:
        """One a second; when the controller looked."""
        for _ in range(number):
            self.loop.round(0)
            self.now += SECOND
        return self.controller.looks


def test_a_waiting_item_is_not_woken_before_its_write_ends() -> None:
    case = Case(WaitFor(ITEM, KEY))
    assert case.rounds(5) == [0]

    ((key, action),) = case.asked
    case.loop.inbox.put(Failed(key, action, ApiError(503, "ServiceUnavailable", "later")))
    assert case.rounds(40) == [0], "the write is sent again, so it is still in flight"
    assert [key for key, _ in case.asked] == [KEY, KEY]


def test_an_item_is_woken_by_the_end_of_a_backoff_or_a_change_of_the_object() -> None:
    case = Case(WaitFor(ITEM, KEY))
    case.rounds(1)
    ((key, action),) = case.asked
    case.loop.inbox.put(Failed(key, action, ApiError(422, "Invalid", "a policy says no")))
    looks = case.rounds(60)
    assert len(looks) == 2

    other = Case(WaitFor(ITEM, KEY))
    other.rounds(1)
    ((key, action),) = other.asked
    other.loop.inbox.put(Failed(key, action, ApiError(422, "Invalid", "a policy says no")))
    before = other.loop.core.state.records.at(KEY)
    assert before is not None
    other.loop.inbox.put(Observed(KEY, "2", before.value, before.detail))
    assert other.rounds(1) == [0, 1]


def test_an_item_is_woken_on_time_and_the_loop_does_not_wait_longer() -> None:
    case = Case(WakeAt(ITEM, START + 3 * SECOND), write=False)
    case.loop.round(0)
    assert case.loop.patience(10.0) == 3.0
    case.now += SECOND
    assert case.rounds(6)[:2] == [0, 3]


def test_a_repeated_wakeup_is_kept_once() -> None:
    waits, controller = Waits(), Waiting(WakeAt(ITEM, START))
    for _ in range(3):
        waits.add(controller, WakeAt(ITEM, START))
    waits.ring(START)

    assert waits.next is None
    waits.add(controller, WakeAt(ITEM, START))
    assert waits.next == START
    for _ in range(3):
        waits.add(controller, WakeAt(ITEM, START + 1))
    assert len(waits._by_moment) == 2
