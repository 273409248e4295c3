"""What becomes of writes and reads that fail by a fault of ours, and of kinds that are not installed."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cluster.actions import Action, Patch
from cluster.client import Listing
from cluster.errors import NotFound
from cluster.retry import Backoff
from reconciler.core.watched import by_kind
from reconciler.objects.observed import Listed
from reconciler.objects.outcomes import Failed, Outcome
from reconciler.objects.patches import WORKLOADS
from reconciler.shell.writer import Writer

KEY = ("Workload", "ns/a")
WORKLOAD = by_kind()["Workload"]
PATCH = Patch(WORKLOADS, "ns", "a", {"spec": {}}, "1", "m")


class Odd:
    """A connection on which each request does the next of what it is told."""

    def __init__(self, *happenings: Callable[[], Any]) -> None:
        self._happenings = [*happenings]

    def _next(self, *_: object, **__: object) -> Any:
        return self._happenings.pop(0)()

    get = patch = snapshot = _next


def broken() -> Any:
    raise RecursionError("too deep for us")


def absent() -> Any:
    raise NotFound(404, "NotFound", "the server could not find the requested resource")


@contextmanager
def writer(*happenings: Callable[[], Any]) -> Iterator[tuple[Writer, Callable[[], Outcome | Listed]]]:
    reported: queue.SimpleQueue[Outcome | Listed] = queue.SimpleQueue()
    made = Writer(Odd(*happenings), reported.put, lambda: True)  # type: ignore[arg-type]
    try:
        yield made, lambda: reported.get(timeout=30)
    finally:
        made.close()


def test_a_read_that_fails_by_a_fault_of_ours_is_told_as_failed() -> None:
    with writer(broken) as (made, reported):
        made.read(KEY, "/path")
        outcome = reported()
    assert isinstance(outcome, Failed)
    assert (outcome.key, outcome.action, type(outcome.error)) == (KEY, None, RecursionError)


def test_a_write_that_fails_by_a_fault_of_ours_is_told_as_failed() -> None:
    with writer(broken) as (made, reported):
        action: Action = PATCH
        made.write(KEY, action)
        outcome = reported()
    assert isinstance(outcome, Failed)
    assert (outcome.action, type(outcome.error)) == (PATCH, RecursionError)


def test_a_list_that_fails_by_a_fault_of_ours_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Backoff, "next", lambda *_: 0.0)
    with writer(broken, lambda: Listing((), "7")) as (made, reported):
        made.relist(WORKLOAD, 3)
        assert reported() == Listed("Workload", (), "7", 3)


def test_of_a_kind_that_is_not_installed_there_is_nothing() -> None:
    with writer(absent) as (made, reported):
        made.relist(WORKLOAD, 3)
        assert reported() == Listed("Workload", (), "", 3)
