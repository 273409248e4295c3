"""The memory of writes to workers."""

from __future__ import annotations

import pytest

from cluster.actions import Action, Create, Delete
from cluster.errors import ApiError
from cluster.resource import JOBS
from reconciler.multikueue.writes import RemoteWrites
from reconciler.objects.outcomes import Failed
from scheduling.objects.times import SECOND

CREATE, DELETE = Create(JOBS, {}, "m"), Delete(JOBS, "ns", "j", "1")


@pytest.mark.parametrize("action", [CREATE, DELETE])
def test_a_failed_object_that_is_not_written_again_is_dropped(action: Action) -> None:
    """A tenant may create any number of jobs that no worker accepts, and delete them."""
    writes = RemoteWrites()
    for number in range(3):
        key = ("Job", f"ns/j{number}")
        assert len([*writes.send("east", key, action)]) == 1
        writes.over("east", Failed(key, action, ApiError(422, "Invalid", "no")))
    assert [key for key, _ in writes.rested(lambda _: True)] == []

    writes.now += 400 * SECOND
    assert {key[1] for key, _ in writes.rested(lambda _: True)} == {"ns/j0", "ns/j1", "ns/j2"}
    assert not writes._objects


def test_a_rejection_counts_from_the_first_rejection_and_not_from_an_error_before() -> None:
    writes, key = RemoteWrites(), ("Workload", "ns/w")
    error, rejection = ApiError(500, "InternalError", "no webhook"), ApiError(422, "Invalid", "no")
    writes.now = SECOND
    writes.over("east", Failed(key, CREATE, error))
    writes.now += 20 * SECOND
    writes.over("east", Failed(key, CREATE, rejection))
    assert writes.rejection("east", key, exists=False) is None

    writes.now += 10 * SECOND
    found = writes.rejection("east", key, exists=False)
    assert found is not None
    assert (found.reason, found.retried) == ("Rejected", False)


def test_the_backoff_of_a_failing_object_grows() -> None:
    writes, key = RemoteWrites(), ("Job", "ns/j")
    for _ in range(20):
        assert len([*writes.send("east", key, CREATE)]) == 1
        writes.over("east", Failed(key, CREATE, ApiError(422, "Invalid", "no")))
        while writes.busy("east", key):
            writes.now += SECOND
            assert all(write is None for _, write in writes.rested(lambda _: True))

    assert writes._objects["east", key].backoff._failures == 20
