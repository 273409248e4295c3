"""The Lease, with an API server in memory and a fake clock."""

from __future__ import annotations

from typing import Any, cast

import pytest

from cluster.client import MERGE_PATCH, ClusterClient
from cluster.errors import BadAnswer, ClusterError, Conflict, NotFound, Unreachable
from cluster.lease import Lease, LeaseTimes

TIMES = LeaseTimes(duration=15, renew_deadline=10, retry=2)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Server:
    """Holds one Lease, as an API server does: a write that names an old version is refused."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.away = False
        self.version = 0

    def get(self, path: str) -> dict[str, Any]:
        assert path == "/apis/coordination.k8s.io/v1/namespaces/quota/leases/writer"
        self._answer()
        if self.lease is None:
            raise NotFound(404, "NotFound", "no such Lease")
        return self.lease

    def create(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self._answer()
        if self.lease is not None:
            raise Conflict(409, "AlreadyExists", "there is one")
        return self._store(body)

    def patch(self, path: str, body: dict[str, Any], content_type: str) -> dict[str, Any]:
        self._answer()
        if self.lease is None:
            raise NotFound(404, "NotFound", "no such Lease")
        self._compare(body)
        return self._store({**self.lease, "spec": {**self.lease["spec"], **body["spec"]}})

    def holder(self) -> str:
        assert self.lease is not None
        return str(self.lease["spec"]["holderIdentity"])

    def _answer(self) -> None:
        if self.away:
            raise Unreachable("server", "gone", "wait")

    def _compare(self, body: dict[str, Any]) -> None:
        if body["metadata"]["resourceVersion"] != str(self.version):
            raise Conflict(409, "Conflict", "another version")

    def _store(self, body: dict[str, Any]) -> dict[str, Any]:
        self.version += 1
        self.lease = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self.version)}}
        return self.lease


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def lease(server: Server, clock: Clock, identity: str, times: LeaseTimes = TIMES) -> Lease:
    return Lease(cast("ClusterClient", server), "quota", "writer", identity, times, clock)


def test_the_first_process_acquires_the_lease_and_the_second_waits(server: Server, clock: Clock) -> None:
    first, second = lease(server, clock, "first"), lease(server, clock, "second")

    first.renew()
    second.renew()

    assert (first.held(), second.held()) == (True, False)
    assert server.holder() == "first"
    assert server.lease is not None
    assert server.lease["spec"]["leaseDurationSeconds"] == 15


def test_the_stored_duration_is_not_shorter_than_the_holder_assumes(server: Server, clock: Clock) -> None:
    first = lease(server, clock, "first", LeaseTimes(duration=2.4, renew_deadline=2.3, retry=0.5))
    second = lease(server, clock, "second", LeaseTimes(duration=2.0, renew_deadline=1.5, retry=0.5))
    first.renew()
    second.renew()
    clock.now += 2.1
    second.renew()

    assert (first.held(), second.held()) == (True, False)


def test_a_holder_that_renews_the_lease_keeps_it(server: Server, clock: Clock) -> None:
    first, second = lease(server, clock, "first"), lease(server, clock, "second")
    for _ in range(20):
        first.renew()
        second.renew()
        clock.now += 2

    assert (first.held(), second.held()) == (True, False)
    assert server.lease is not None
    assert server.lease["spec"]["leaseTransitions"] == 0


def test_the_lease_is_lost_at_the_renew_deadline_without_an_api_server(server: Server, clock: Clock) -> None:
    holder = lease(server, clock, "first")
    holder.renew()
    server.away = True

    clock.now += 9.9
    holder.renew()
    assert holder.held()

    clock.now += 0.1
    holder.renew()
    assert not holder.held()

    server.away = False
    holder.renew()
    assert holder.held()


def test_a_slow_renewal_counts_from_its_start(server: Server, clock: Clock) -> None:
    holder = lease(server, clock, "first")
    stored = server.create

    def slow(path: str, body: dict[str, Any]) -> dict[str, Any]:
        clock.now += 9
        return stored(path, body)

    server.create = slow  # type: ignore[method-assign]
    holder.renew()
    assert holder.held()

    clock.now += 1
    assert not holder.held()


def test_a_standby_acquires_the_lease_after_the_duration_without_a_renewal(server: Server, clock: Clock) -> None:
    first, second = lease(server, clock, "first"), lease(server, clock, "second")
    first.renew()
    second.renew()

    clock.now += 14.9
    second.renew()
    assert not second.held()

    clock.now += 0.1
    second.renew()
    assert (first.held(), second.held()) == (False, True)
    assert server.lease is not None
    assert server.lease["spec"]["leaseTransitions"] == 1


def test_a_standby_waits_for_the_duration_that_the_holder_stored(server: Server, clock: Clock) -> None:
    """This happens while the configuration of the replicas is changed."""
    first = lease(server, clock, "first", LeaseTimes(duration=60, renew_deadline=40, retry=5))
    second = lease(server, clock, "second")
    first.renew()
    second.renew()

    clock.now += 39
    second.renew()

    assert (first.held(), second.held()) == (True, False)


def test_only_one_of_two_processes_acquires_a_free_lease(server: Server, clock: Clock) -> None:
    first, second = lease(server, clock, "first"), lease(server, clock, "second")
    found = server.get

    def both_look(path: str) -> dict[str, Any]:
        server.get = found  # type: ignore[method-assign]
        try:
            return found(path)
        finally:
            second.renew()

    server.get = both_look  # type: ignore[method-assign]
    first.renew()

    assert (first.held(), second.held()) == (False, True)


def test_a_lease_that_another_process_acquired_is_lost_at_once(server: Server, clock: Clock) -> None:
    holder = lease(server, clock, "first")
    holder.renew()
    assert server.lease is not None
    server.patch("", {**server.lease, "spec": {"holderIdentity": "somebody"}}, MERGE_PATCH)

    holder.renew()

    assert not holder.held()


def test_stopping_releases_the_lease_for_the_next_process(server: Server, clock: Clock) -> None:
    first, second = lease(server, clock, "first"), lease(server, clock, "second")
    first.renew()
    second.renew()

    first.stop()
    second.renew()

    assert (first.held(), second.held()) == (False, True)


def test_stopping_late_does_not_release_the_lease_of_another_process(server: Server, clock: Clock) -> None:
    first, second = lease(server, clock, "first"), lease(server, clock, "second")
    first.renew()
    second.renew()
    patch = server.patch

    def delayed(path: str, body: dict[str, Any], content_type: str) -> dict[str, Any]:
        server.patch = patch  # type: ignore[method-assign]
        clock.now += 15
        second.renew()
        return patch(path, body, content_type)

    server.patch = delayed  # type: ignore[method-assign]
    first.stop()

    assert second.held()
    assert server.holder() == "second"


def test_stopping_without_an_api_server_raises_no_error(server: Server, clock: Clock) -> None:
    holder = lease(server, clock, "first")
    holder.renew()
    server.away = True

    holder.stop()

    assert not holder.held()


@pytest.mark.parametrize("times", [(15, 15, 2), (10, 15, 2), (15, 10, 10), (15, 10, 0)])
def test_invalid_lease_times_are_refused(times: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="each must be shorter than the next"):
        LeaseTimes(*times)


def test_an_attempt_without_an_api_server_raises_an_error(server: Server, clock: Clock) -> None:
    server.away = True

    with pytest.raises(ClusterError, match="gone"):
        lease(server, clock, "first").attempt()


@pytest.mark.parametrize("method", ["get", "create", "patch"])
def test_an_answer_that_is_not_a_lease_is_an_error(
    server: Server, clock: Clock, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    one = lease(server, clock, "first")
    if method != "create":
        assert one.attempt()
    monkeypatch.setattr(server, method, lambda *_: {})

    with pytest.raises(BadAnswer, match="leases/writer: the response is not a Lease"):
        one.attempt()


def test_late_writes_are_possible_after_taking_over_an_expired_lease(server: Server, clock: Clock) -> None:
    first, second = lease(server, clock, "first"), lease(server, clock, "second")
    first.renew()
    second.renew()
    assert (first.late_writes_possible(), second.late_writes_possible()) == (False, False)
    clock.now += 15
    second.renew()
    assert second.held()
    assert second.late_writes_possible()
    clock.now += 11
    second.renew()
    assert second.late_writes_possible(), "a process that acquires it again still expects late writes of the first"


def test_a_new_term_begins_only_if_another_process_may_have_held_the_lease(server: Server, clock: Clock) -> None:
    first, second = lease(server, clock, "first"), lease(server, clock, "second")
    first.renew()
    clock.now += 11
    first.renew()
    assert first.term() == 1  # held again, and by no other process in between
    second.renew()
    clock.now += 15
    second.renew()
    second.stop()
    first.renew()

    assert (first.held(), first.term(), second.term()) == (True, 2, 1)


def test_late_writes_are_not_possible_after_a_released_lease(server: Server, clock: Clock) -> None:
    first, second = lease(server, clock, "first"), lease(server, clock, "second")
    first.renew()
    second.renew()
    first.stop()
    second.renew()
    assert second.held()
    assert not second.late_writes_possible()


def test_a_standby_waits_for_the_full_duration_after_a_deletion(server: Server, clock: Clock) -> None:
    first, second = lease(server, clock, "first"), lease(server, clock, "second")
    first.renew()
    second.renew()
    server.lease = None
    clock.now += 14
    second.renew()
    assert not second.held()
    clock.now += 1
    second.renew()
    assert second.held()
    assert second.late_writes_possible()


def test_a_holder_renews_the_lease_with_one_request(server: Server, clock: Clock) -> None:
    """A busy API server responds to one request in time more often than to two."""
    holder = lease(server, clock, "first")
    holder.renew()

    def unexpected(path: str) -> dict[str, Any]:
        raise AssertionError(path)

    server.get = unexpected  # type: ignore[method-assign]
    clock.now += 2
    holder.renew()
    clock.now += 9
    assert holder.held()


def test_a_renewal_without_a_response_does_not_lose_the_lease(server: Server, clock: Clock) -> None:
    """The Lease then has another version, but still names this process."""
    holder = lease(server, clock, "first")
    holder.renew()
    stored = server.patch

    def lost(path: str, body: dict[str, Any], content_type: str) -> dict[str, Any]:
        stored(path, body, content_type)
        raise Unreachable("server", "no answer in time", "wait", slow=True)

    server.patch = lost  # type: ignore[method-assign]
    clock.now += 2
    holder.renew()
    server.patch = stored  # type: ignore[method-assign]
    clock.now += 2
    holder.renew()
    clock.now += 9

    assert holder.held()
    assert holder.term() == 1


def test_a_deleted_lease_is_created_again_by_its_holder(server: Server, clock: Clock) -> None:
    holder = lease(server, clock, "first")
    holder.renew()
    server.lease = None
    clock.now += 2
    holder.renew()

    assert holder.held()
    assert server.holder() == "first"


def test_left_is_the_time_until_another_process_may_acquire_the_lease(server: Server, clock: Clock) -> None:
    first, second = lease(server, clock, "first"), lease(server, clock, "second")
    first.renew()
    second.renew()
    assert first.left() == 15

    clock.now += 14
    second.renew()
    assert (first.left(), second.held()) == (1, False)

    clock.now += 1
    second.renew()
    assert (first.left(), second.held()) == (0, True)


def test_a_standby_waits_for_the_holders_duration_after_a_deletion(server: Server, clock: Clock) -> None:
    first = lease(server, clock, "first", LeaseTimes(duration=60, renew_deadline=40, retry=5))
    second = lease(server, clock, "second")
    first.renew()
    second.renew()
    server.lease = None
    second.renew()

    clock.now += 39
    second.renew()
    assert (first.held(), second.held()) == (True, False)

    clock.now += 21
    second.renew()
    assert second.held()


def test_a_loss_between_two_attempts_is_logged(server: Server, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    holder = lease(server, clock, "first")
    holder.renew()
    server.away = True
    for _ in range(6):
        clock.now += 2.1
        holder.renew()
    server.away = False
    holder.renew()

    changes = [record.getMessage() for record in caplog.records if record.levelname == "INFO"]
    assert changes == ["the Lease writer is held", "the Lease writer is lost", "the Lease writer is held"]


@pytest.mark.parametrize("released_first", [True, False])
def test_a_renewal_that_ends_after_the_stop_does_not_acquire_the_lease(
    server: Server, clock: Clock, released_first: bool
) -> None:
    holder = lease(server, clock, "first")
    holder.renew()
    stored = server.patch

    def slow(path: str, body: dict[str, Any], content_type: str) -> dict[str, Any]:
        server.patch = stored  # type: ignore[method-assign]
        if released_first:
            holder.stop()
        answer = stored(path, body, content_type)
        holder.stop()
        return answer

    server.patch = slow  # type: ignore[method-assign]
    holder.renew()

    assert not holder.held()
    assert server.holder() == ("" if released_first else "first")


def test_renewals_keep_labels_of_others(server: Server, clock: Clock) -> None:
    holder = lease(server, clock, "first")
    holder.renew()
    assert server.lease is not None
    server.lease["metadata"]["labels"] = {"team": "batch"}
    for seconds in (2, 11):
        clock.now += seconds
        holder.renew()

    assert holder.held()
    assert server.lease["metadata"].get("labels") == {"team": "batch"}
