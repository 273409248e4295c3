"""The reflector against a server that fails on request."""

import queue
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cluster.client import Cluster
from cluster.errors import ApiError, BadAnswer, Forbidden, NotFound, Unreachable
from cluster.reflector import Pacing, Reflector
from cluster.wire import Timeouts
from tests.cluster.fake import (
    PATIENCE,
    WIDGETS,
    FakeApi,
    Handler,
    bookmark,
    end,
    events,
    expired,
    line,
    page,
    status,
    widget,
)


class Listener:
    """What the reflector told, in order, and how long it rested."""

    def __init__(self, cluster: Cluster, **options: Any) -> None:
        self.told: queue.Queue[tuple[object, ...]] = queue.Queue()
        self.rests: list[float] = []
        self.enough_rests = threading.Event()
        self.rests_allowed = 1000
        self.reflector: Reflector[str] = Reflector(
            cluster,
            WIDGETS,
            self.change,
            on_replace=lambda items, version: self.told.put(("REPLACE", items, version)),
            keep=lambda manifest: str(manifest["metadata"]["name"]),
            rest=self.rest,
            chance=random.Random(1),
            **options,
        )

    def change(self, kind: str, name: str, version: str) -> None:
        self.told.put((kind, name, version))

    def rest(self, seconds: float) -> None:
        """No real waiting, but no endless loop either: after the allowed number the reflector is stopped."""
        self.rests.append(seconds)
        if len(self.rests) >= self.rests_allowed:
            self.enough_rests.set()
            self.reflector.stop()

    def next(self) -> tuple[object, ...]:
        return self.told.get(timeout=PATIENCE)

    def none_left(self) -> bool:
        return self.told.empty()


@pytest.fixture
def listen(cluster: Cluster) -> Iterator[Callable[..., Listener]]:
    listeners: list[Listener] = []

    def start(of: Cluster = cluster, rests: int = 1000, **options: Any) -> Listener:
        listener = Listener(of, **options)
        listener.rests_allowed = rests
        listeners.append(listener)
        listener.reflector.start()
        return listener

    yield start
    for listener in listeners:
        listener.reflector.stop()
        assert listener.reflector.state == "stopped"


Listen = Callable[..., Listener]


def watched_from(api: FakeApi) -> list[str]:
    return [seen.query["resourceVersion"] for seen in api.seen if seen.is_watch]


def test_it_hands_over_the_list_and_then_each_change(api: FakeApi, listen: Listen) -> None:
    api.lists += [page(widget("a", 3), widget("b", 5), version=7)]
    api.watches += [
        events(
            line("ADDED", widget("c", 8)),
            line("MODIFIED", widget("a", 9)),
            line("DELETED", widget("b", 10)),
            then=Handler.hold,
        )
    ]

    listener = listen()

    assert listener.next() == ("REPLACE", ("a", "b"), "7")
    assert [listener.next() for _ in range(3)] == [("ADDED", "c", "8"), ("MODIFIED", "a", "9"), ("DELETED", "b", "10")]
    assert listener.reflector.synced.is_set()
    assert listener.reflector.state == "watching"
    watch = next(seen for seen in api.seen if seen.is_watch)
    assert watch.query["resourceVersion"] == "7"
    assert watch.query["allowWatchBookmarks"] == "true"
    assert 261 <= int(watch.query["timeoutSeconds"]) <= 319


def test_a_list_is_read_in_pages_and_handed_over_as_one(api: FakeApi, listen: Listen) -> None:
    api.lists += [page(widget("a", 1), version=7, proceed="more"), page(widget("b", 2), version=7)]

    assert listen(limit=1).next() == ("REPLACE", ("a", "b"), "7")
    assert [seen.query.get("continue") for seen in api.seen if not seen.is_watch] == [None, "more"]
    assert api.seen[0].query["limit"] == "1"


def test_a_token_that_expires_between_pages_starts_the_list_anew(api: FakeApi, listen: Listen) -> None:
    api.lists += [
        page(widget("a", 1), widget("gone", 2), version=7, proceed="more"),
        status(410, "Expired"),
        page(widget("a", 1), version=9, proceed="more"),
        page(widget("b", 8), version=9),
    ]

    assert listen().next() == ("REPLACE", ("a", "b"), "9")
    assert [seen.query.get("continue") for seen in api.seen if not seen.is_watch] == [None, "more", None, "more"]


def test_a_watch_that_the_server_ends_is_resumed_from_the_last_bookmark(api: FakeApi, listen: Listen) -> None:
    api.watches += [events(bookmark(40)), events(line("ADDED", widget("a", 41)), then=Handler.hold)]

    listener = listen()

    assert listener.next() == ("REPLACE", (), "1")
    assert listener.next() == ("ADDED", "a", "41")
    assert watched_from(api) == ["1", "40"]
    assert listener.rests == []  # an end after progress is no failure


@pytest.mark.parametrize("reply", [status(410, "Expired"), events(expired())], ids=["by HTTP", "by event"])
def test_a_version_that_is_too_old_leads_to_a_new_list(api: FakeApi, listen: Listen, reply: Any) -> None:
    api.lists += [page(widget("a", 1), widget("b", 2), version=7), page(widget("b", 2), version=90)]
    api.watches += [reply]

    listener = listen()

    assert listener.next() == ("REPLACE", ("a", "b"), "7")
    assert listener.next() == ("REPLACE", ("b",), "90")  # what was deleted meanwhile is gone
    api.wait_for(lambda seen: sum(one.is_watch for one in seen) == 2)
    assert watched_from(api) == ["7", "90"]


@pytest.mark.parametrize("reply", [status(410, "Expired"), events(expired())], ids=["by HTTP", "by event"])
def test_a_server_that_always_says_gone_makes_no_hot_loop(api: FakeApi, listen: Listen, reply: Any) -> None:
    api.watches += [reply] * 20

    listener = listen(rests=6)

    assert listener.enough_rests.wait(PATIENCE)
    assert len(watched_from(api)) == 6  # every failure rested once
    assert min(listener.rests) >= 0.5
    assert sum(listener.rests) > 10


def test_half_open_connection_is_noticed_and_resumed(api: FakeApi, listen: Listen) -> None:
    api.watches += [
        events(line("ADDED", widget("a", 2)), then=Handler.hold),
        events(line("ADDED", widget("b", 3)), then=Handler.hold),
    ]
    impatient = api.cluster(timeouts=Timeouts(connect=1.0, read=1.0, watch_grace=0.2))

    with impatient:
        listener = listen(impatient, pacing=Pacing(watch=0))

        assert [listener.next()[0], listener.next(), listener.next()] == [
            "REPLACE",
            ("ADDED", "a", "2"),
            ("ADDED", "b", "3"),
        ]
        assert watched_from(api)[:2] == ["1", "2"]
        listener.reflector.stop()


def test_retry_after_is_honoured(api: FakeApi, listen: Listen) -> None:
    api.lists += [status(429, "TooManyRequests", retry_after=17)]

    listener = listen()

    assert listener.next()[0] == "REPLACE"
    assert listener.rests == [17.0]


@pytest.mark.parametrize(("code", "reason"), [(500, "InternalError"), (403, "Forbidden"), (503, "ServiceUnavailable")])
def test_a_storm_of_errors_makes_no_hot_loop(api: FakeApi, listen: Listen, code: int, reason: str) -> None:
    api.lists += [status(code, reason)] * 50

    listener = listen(rests=8)

    assert listener.enough_rests.wait(PATIENCE)
    listener.reflector.stop()
    assert len(api.seen) == 8  # one request for each rest
    assert all(0.5 <= rest <= 30.0 for rest in listener.rests)
    assert max(listener.rests) > 5.0
    assert not listener.reflector.synced.is_set()
    error = listener.reflector.last_error
    assert isinstance(error, Forbidden if code == 403 else ApiError)
    assert error.status == code


def test_a_watch_that_fails_with_500_is_resumed_without_a_new_list(api: FakeApi, listen: Listen) -> None:
    api.watches += [status(500, "InternalError"), events(line("ADDED", widget("a", 2)), then=Handler.hold)]

    listener = listen()

    assert listener.next()[0] == "REPLACE"
    assert listener.next() == ("ADDED", "a", "2")
    assert sum(not seen.is_watch for seen in api.seen) == 1
    assert len(listener.rests) == 1


def test_a_server_that_ends_every_watch_at_once_makes_no_hot_loop(api: FakeApi, listen: Listen) -> None:
    api.watches += [events()] * 20

    listener = listen(rests=5)

    assert listener.enough_rests.wait(PATIENCE)
    assert watched_from(api) == ["1"] * 5
    assert min(listener.rests) >= 0.5


def test_progress_makes_the_next_failure_wait_briefly_again(api: FakeApi, listen: Listen) -> None:
    api.lists += [status(500, "InternalError")] * 6
    api.watches += [events(line("ADDED", widget("a", 2)), then=Handler.cut), status(500, "InternalError")]

    listener = listen()

    assert listener.next()[0] == "REPLACE"
    assert listener.next() == ("ADDED", "a", "2")
    api.wait_for(lambda seen: sum(one.is_watch for one in seen) == 3)
    assert max(listener.rests[:6]) > 2.0
    assert listener.rests[6] <= 1.0


def test_a_line_that_is_cut_leads_to_a_new_list(api: FakeApi, listen: Listen) -> None:
    cut = line("ADDED", widget("b", 3))[:-20]
    api.lists += [page(version=1), page(widget("a", 2), widget("b", 3), version=3)]
    api.watches += [events(line("ADDED", widget("a", 2)), cut, then=end)]

    listener = listen()

    assert listener.next() == ("REPLACE", (), "1")
    assert listener.next() == ("ADDED", "a", "2")
    assert listener.next() == ("REPLACE", ("a", "b"), "3")


def test_a_connection_that_is_cut_in_a_line_is_resumed(api: FakeApi, listen: Listen) -> None:
    cut = line("ADDED", widget("b", 3))[:-20]
    api.watches += [
        events(line("ADDED", widget("a", 2)), cut, then=Handler.cut),
        events(line("ADDED", widget("b", 3)), then=Handler.hold),
    ]

    listener = listen()

    assert [listener.next()[0], listener.next(), listener.next()] == [
        "REPLACE",
        ("ADDED", "a", "2"),
        ("ADDED", "b", "3"),
    ]
    assert watched_from(api)[:2] == ["1", "2"]


def test_a_line_beyond_the_limit_leads_to_a_new_list(api: FakeApi, listen: Listen) -> None:
    api.lists += [page(version=1), page(widget("huge", 2), version=2)]
    flood = [b"x" * 1024 * 1024] * 9
    api.watches += [events(*flood, then=Handler.hold)]

    listener = listen()

    assert listener.next() == ("REPLACE", (), "1")
    assert listener.next() == ("REPLACE", ("huge",), "2")
    assert isinstance(listener.reflector.last_error, BadAnswer)


def test_lines_that_are_no_events_lead_to_a_new_list(api: FakeApi, listen: Listen) -> None:
    nonsense = [
        b"<html>\n",
        b"[]\n",
        b'{"type": "ODD", "object": {}}\n',
        b'{"type": "ADDED", "object": {"metadata": 1}}\n',
    ]
    nonsense += [b"[" * 100_000 + b"\n"]
    api.watches += [events(bad) for bad in nonsense]

    listener = listen()

    assert [listener.next()[0] for _ in range(6)] == ["REPLACE"] * 6
    assert len(listener.rests) == 5


def test_a_connection_that_is_reset_is_resumed(api: FakeApi, listen: Listen) -> None:
    api.watches += [Handler.reset, events(line("ADDED", widget("a", 2)), then=Handler.hold)]

    listener = listen()

    assert listener.next()[0] == "REPLACE"
    assert listener.next() == ("ADDED", "a", "2")
    assert isinstance(listener.reflector.last_error, type(None))  # forgotten after progress
    assert len(listener.rests) == 1


def test_an_absent_crd_is_an_empty_set_and_is_picked_up_once_installed(api: FakeApi, listen: Listen) -> None:
    api.lists += [status(404, "NotFound"), status(404, "NotFound"), page(widget("a", 5), version=6)]

    listener = listen()

    assert listener.next() == ("REPLACE", (), "")
    assert listener.next() == ("REPLACE", ("a",), "6")  # told once, not with every look
    assert all(24.0 <= rest <= 36.0 for rest in listener.rests)
    assert len(listener.rests) == 2


def test_an_absent_crd_counts_as_synced_and_says_so(api: FakeApi, listen: Listen) -> None:
    api.lists += [status(404, "NotFound")] * 2

    listener = listen(rests=1)

    assert listener.enough_rests.wait(PATIENCE)
    assert listener.reflector.synced.is_set()
    assert isinstance(listener.reflector.last_error, NotFound)


def test_a_crd_that_is_removed_takes_its_objects_along(api: FakeApi, listen: Listen) -> None:
    api.lists += [page(widget("a", 5), version=6), status(404, "NotFound"), page(version=20)]
    api.watches += [events(bookmark(7)), status(404, "NotFound")]

    listener = listen()

    assert listener.next() == ("REPLACE", ("a",), "6")
    assert listener.next() == ("REPLACE", (), "")
    assert listener.next() == ("REPLACE", (), "20")


def test_repeated_and_late_events_change_nothing(api: FakeApi, listen: Listen) -> None:
    first, second = line("ADDED", widget("a", 8)), line("MODIFIED", widget("a", 10))
    late = line("MODIFIED", widget("a", 9))
    api.lists += [page(version=7)]
    api.watches += [
        events(first, second, late, second, bookmark(9), line("DELETED", widget("a", 11)), then=Handler.hold)
    ]

    listener = listen()

    told = [listener.next() for _ in range(4)]
    assert told == [("REPLACE", (), "7"), ("ADDED", "a", "8"), ("MODIFIED", "a", "10"), ("DELETED", "a", "11")]


def test_a_listener_that_fails_gets_everything_anew(api: FakeApi, cluster: Cluster) -> None:
    told: queue.Queue[tuple[object, ...]] = queue.Queue()

    def fail_once(kind: str, name: str, version: str) -> None:
        raise LookupError("a bug in the listener")

    rests: list[float] = []
    api.lists += [page(version=1), page(widget("a", 2), version=2)]
    api.watches += [events(line("ADDED", widget("a", 2)), then=Handler.hold)]
    reflector: Reflector[str] = Reflector(
        cluster,
        WIDGETS,
        fail_once,
        on_replace=lambda items, version: told.put((items, version)),
        keep=lambda manifest: str(manifest["metadata"]["name"]),
        rest=rests.append,
    )
    reflector.start()

    assert told.get(timeout=PATIENCE) == ((), "1")
    assert told.get(timeout=PATIENCE) == (("a",), "2")
    reflector.stop()
    assert len(rests) == 1


def test_nothing_listens_at_the_address(listen: Listen, api: FakeApi) -> None:
    unused = api.cluster()
    api.close()

    with unused:
        listener = listen(unused, rests=3)

        assert listener.enough_rests.wait(PATIENCE)
        assert isinstance(listener.reflector.last_error, Unreachable)
        assert not listener.reflector.synced.is_set()
        assert listener.reflector.age is None


def test_stop_wakes_a_blocked_read(api: FakeApi, listen: Listen) -> None:
    api.watches += [events(line("ADDED", widget("a", 2)), then=Handler.hold)]
    listener = listen()
    assert [listener.next()[0], listener.next()[0]] == ["REPLACE", "ADDED"]

    listener.reflector.stop(timeout=PATIENCE)

    assert listener.reflector.state == "stopped"
    assert listener.rests == []  # it ended by itself, not through a failure


def test_stop_ends_a_rest(api: FakeApi, cluster: Cluster) -> None:
    api.lists += [status(429, "TooManyRequests", retry_after=100)]
    reflector: Reflector[object] = Reflector(
        cluster, WIDGETS, lambda kind, item, version: None, on_replace=lambda items, version: None, keep=id
    )
    reflector.start()
    api.wait_for(lambda seen: len(seen) == 1)

    reflector.stop(timeout=PATIENCE)

    assert reflector.state == "stopped"


def test_stop_before_start_is_fine_and_nothing_is_asked(api: FakeApi, cluster: Cluster) -> None:
    reflector: Reflector[object] = Reflector(
        cluster, WIDGETS, lambda kind, item, version: None, on_replace=lambda items, version: None, keep=id
    )
    reflector.stop()
    reflector.start()
    reflector.stop()

    assert api.seen == []


def test_age_counts_from_the_last_event_and_not_from_failures(api: FakeApi, listen: Listen) -> None:
    now = [100.0]
    api.watches += [events(bookmark(5), then=Handler.cut), status(500, "InternalError")]

    listener = Listener(api.cluster(), clock=lambda: now[0])
    listener.rests_allowed = 2
    assert listener.reflector.age is None
    listener.reflector.start()
    assert listener.enough_rests.wait(PATIENCE)
    now[0] = 130.0

    assert listener.reflector.age == 30.0


def test_managed_fields_never_reach_the_listener(api: FakeApi, cluster: Cluster) -> None:
    kept: queue.Queue[dict[str, Any]] = queue.Queue()

    def keep(manifest: dict[str, Any]) -> None:
        kept.put(manifest["metadata"])

    listed, added = widget("a", 1), widget("b", 2)
    listed["metadata"]["managedFields"] = added["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    api.lists += [page(listed)]
    api.watches += [events(line("ADDED", added), then=Handler.hold)]
    reflector: Reflector[None] = Reflector(
        cluster, WIDGETS, lambda kind, item, version: None, on_replace=lambda items, version: None, keep=keep
    )
    reflector.start()

    seen = [kept.get(timeout=PATIENCE), kept.get(timeout=PATIENCE)]
    reflector.stop()
    assert [metadata["name"] for metadata in seen] == ["a", "b"]
    assert not any("managedFields" in metadata for metadata in seen)
