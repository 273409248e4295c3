"""The reflector against a server that fails in every way."""

from collections.abc import Callable
from typing import Any

import pytest

from cluster.errors import ApiError, BadAnswer, Forbidden, Unreachable
from cluster.reflector import Pacing
from cluster.stream import LINE_LIMIT
from cluster.wire import Timeouts
from tests.cluster.fake import PATIENCE, FakeApi, Handler, Reply, end, events, expired, line, page, status, widget
from tests.cluster.listener import Listen, watched_from


def behind() -> Reply:
    message = "Timeout: Too large resource version: 43392, current: 17506"
    return status(504, "Timeout", message=message, cause="ResourceVersionTooLarge")


def test_an_expired_continue_token_starts_the_list_again(api: FakeApi, listen: Listen) -> None:
    api.lists += [
        page(widget("a", 1), widget("gone", 2), version=7, proceed="more"),
        status(410, "Expired"),
        page(widget("a", 1), version=9, proceed="more"),
        page(widget("b", 8), version=9),
    ]

    assert listen().next() == ("REPLACE", ("a", "b"), "9")
    assert [seen.query.get("continue") for seen in api.seen if not seen.is_watch] == [None, "more", None, "more"]


def test_a_list_is_read_without_pages_while_the_cache_of_the_server_is_behind(api: FakeApi, listen: Listen) -> None:
    """In Kubernetes 1.34 and later the first page comes from etcd and the second from the cache."""
    api.lists += [
        page(widget("a", 1), version=43392, proceed="more"),
        behind(),
        page(widget("a", 1), widget("b", 8), version=43400),
    ]

    listener = listen(limit=2)

    assert listener.next() == ("REPLACE", ("a", "b"), "43400")
    assert [seen.query.get("limit") for seen in api.seen if not seen.is_watch] == ["2", "2", None]
    assert not listener.rests


def test_a_page_of_a_long_list_is_requested_again_while_the_cache_of_the_server_is_behind(
    api: FakeApi, listen: Listen
) -> None:
    """Without pages the API server would need more time for such a list than any client waits."""
    api.lists += [
        page(widget("a", 1), version=43392, proceed="more", left=500_000),
        behind(),
        behind(),
        page(widget("b", 8), version=43392),
    ]

    assert listen(limit=2).next() == ("REPLACE", ("a", "b"), "43392")
    assert [seen.query.get("continue") for seen in api.seen if not seen.is_watch] == [None, "more", "more", "more"]


@pytest.mark.parametrize("reply", [status(410, "Expired"), events(expired())], ids=["by HTTP", "by event"])
def test_an_expired_resource_version_leads_to_a_new_list(api: FakeApi, listen: Listen, reply: Any) -> None:
    api.lists += [page(widget("a", 1), widget("b", 2), version=7), page(widget("b", 2), version=90)]
    api.watches += [reply]

    listener = listen()

    assert listener.next() == ("REPLACE", ("a", "b"), "7")
    assert listener.next() == ("REPLACE", ("b",), "90")  # what was deleted meanwhile is gone
    api.wait_for(lambda seen: sum(one.is_watch for one in seen) == 2)
    assert watched_from(api) == ["7", "90"]


@pytest.mark.parametrize("reply", [status(410, "Expired"), events(expired())], ids=["by HTTP", "by event"])
def test_repeated_expired_versions_make_no_hot_loop(api: FakeApi, listen: Listen, reply: Any) -> None:
    api.watches += [reply] * 20

    listener = listen(rests=6)

    assert listener.enough_rests.wait(PATIENCE)
    assert len(watched_from(api)) == 6  # every failure rested once
    assert min(listener.rests) >= 0.5
    assert sum(listener.rests) > 10


def test_a_half_open_connection_is_detected_and_resumed(api: FakeApi, listen: Listen) -> None:
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
    assert sum(not seen.is_watch and not seen.checks_version for seen in api.seen) == 1
    assert len(listener.rests) == 1


@pytest.mark.parametrize("then", [end, Handler.cut, Handler.reset])
def test_a_server_that_was_restored_from_a_backup_is_listed_again(
    api: FakeApi, listen: Listen, then: Callable[[Handler], None]
) -> None:
    api.lists += [page(widget("a", 5), version=40), page(widget("b", 3), version=21)]
    api.watches += [events(then=then)]
    api.newest = 20
    restored: list[str] = []

    listener = listen(on_set_back=lambda error: restored.append(str(error)))

    assert [listener.next(), listener.next()] == [("REPLACE", ("a",), "40"), ("REPLACE", ("b",), "21")]
    assert [error.partition(" was ")[2] for error in restored] == [
        "set back from version 40 to 20, as by a restore from a backup"
    ]
    api.wait_for(lambda seen: seen[-1].is_watch)
    assert watched_from(api) == ["40", "21"]


def test_a_list_older_than_the_last_event_shows_a_restore(api: FakeApi, listen: Listen) -> None:
    api.lists += [page(version=40), page(version=20), page(version=20)]
    api.watches += [events(expired(), then=end)]
    restored: list[object] = []

    listener = listen(on_set_back=restored.append)

    assert [listener.next(), listener.next()] == [("REPLACE", (), "40"), ("REPLACE", (), "20")]
    assert len(restored) == 1


def test_a_server_that_ends_every_watch_at_once_makes_no_hot_loop(api: FakeApi, listen: Listen) -> None:
    api.watches += [events()] * 20

    listener = listen(rests=5)

    assert listener.enough_rests.wait(PATIENCE)
    assert watched_from(api) == ["1"] * 5
    assert min(listener.rests) >= 0.5


def test_progress_resets_the_backoff(api: FakeApi, listen: Listen) -> None:
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
    flood = [b"x" * 1024 * 1024] * (LINE_LIMIT // 1024**2 + 1)
    api.watches += [events(*flood, then=Handler.hold)]

    listener = listen()

    assert listener.next() == ("REPLACE", (), "1")
    assert listener.next() == ("REPLACE", ("huge",), "2")
    assert isinstance(listener.reflector.last_error, BadAnswer)


def test_invalid_watch_lines_lead_to_a_new_list(api: FakeApi, listen: Listen) -> None:
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


def test_a_refused_connection_is_the_last_error(listen: Listen, api: FakeApi) -> None:
    unused = api.cluster()
    api.close()

    with unused:
        listener = listen(unused, rests=3)

        assert listener.enough_rests.wait(PATIENCE)
        assert isinstance(listener.reflector.last_error, Unreachable)
        assert not listener.reflector.synced.is_set()
        assert listener.reflector.age is None
