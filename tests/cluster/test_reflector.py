"""The reflector without faults: lists, changes, CRDs that are installed and removed, stopping."""

import queue
from typing import Any

from cluster.client import ClusterClient
from cluster.errors import NotFound
from cluster.reflector import Reflector
from tests.cluster.fake import (
    PATIENCE,
    WIDGETS,
    FakeApi,
    Handler,
    bookmark,
    events,
    expired,
    line,
    page,
    status,
    widget,
)
from tests.cluster.listener import Listen, Listener, watched_from
from tests.waiting import eventually


def test_a_reflector_delivers_the_list_and_then_each_change(api: FakeApi, listen: Listen) -> None:
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
    assert 67 <= int(watch.query["timeoutSeconds"]) <= 83


def test_a_list_is_read_in_pages_and_handed_over_as_one(api: FakeApi, listen: Listen) -> None:
    api.lists += [page(widget("a", 1), version=7, proceed="more"), page(widget("b", 2), version=7)]

    assert listen(limit=2).next() == ("REPLACE", ("a", "b"), "7")
    assert [seen.query.get("continue") for seen in api.seen if not seen.is_watch] == [None, "more"]
    assert api.seen[0].query["limit"] == "2"


def test_a_watch_that_the_server_ends_is_resumed_from_the_last_bookmark(api: FakeApi, listen: Listen) -> None:
    api.watches += [events(bookmark(40)), events(line("ADDED", widget("a", 41)), then=Handler.hold)]

    listener = listen()

    assert listener.next() == ("REPLACE", (), "1")
    assert listener.next() == ("ADDED", "a", "41")
    assert watched_from(api) == ["1", "40"]
    assert listener.rests == []  # an end after progress is no failure


def test_an_absent_crd_is_an_empty_list_until_it_is_installed(api: FakeApi, listen: Listen) -> None:
    api.lists += [status(404, "NotFound"), status(404, "NotFound"), page(widget("a", 5), version=6)]

    listener = listen()

    assert listener.next() == ("REPLACE", (), "")
    assert listener.next() == ("REPLACE", ("a",), "6")  # told once, not with every look
    assert all(24.0 <= rest <= 36.0 for rest in listener.rests)
    assert len(listener.rests) == 2


def test_an_absent_crd_counts_as_synced_and_is_the_last_error(api: FakeApi, listen: Listen) -> None:
    api.lists += [status(404, "NotFound")] * 2

    listener = listen(rests=1)

    assert listener.enough_rests.wait(PATIENCE)
    assert listener.reflector.synced.is_set()
    assert isinstance(listener.reflector.last_error, NotFound)


def test_a_removed_crd_removes_its_objects(api: FakeApi, listen: Listen) -> None:
    api.lists += [page(widget("a", 5), version=6), status(404, "NotFound"), page(version=20)]
    api.watches += [events(bookmark(7)), status(404, "NotFound")]

    listener = listen()

    assert listener.next() == ("REPLACE", ("a",), "6")
    assert listener.next() == ("REPLACE", (), "")
    assert listener.next() == ("REPLACE", (), "20")


def test_a_404_page_of_a_gateway_does_not_mean_that_the_crd_is_absent(api: FakeApi, listen: Listen) -> None:
    """A gateway in front of the API server may have lost its backend, while the objects still exist."""
    api.lists += [page(widget("a", 5), version=6), page(widget("b", 8), version=9)]
    api.watches += [lambda handler: handler.send_json(404, b"<html>no backend</html>"), events(expired())]

    listener = listen()

    assert listener.next() == ("REPLACE", ("a",), "6")
    assert listener.next() == ("REPLACE", ("b",), "9")


def test_a_plain_404_of_the_api_server_means_that_the_crd_is_absent(api: FakeApi, listen: Listen) -> None:
    api.lists += [lambda handler: handler.send_json(404, b"404 page not found\n")]

    assert listen().next() == ("REPLACE", (), "")


def test_each_installation_and_removal_of_a_crd_is_delivered(api: FakeApi, listen: Listen) -> None:
    absent = status(404, "NotFound")
    api.lists += [absent, page(widget("a", 5), version=6), absent, page(widget("b", 8), version=9)]
    api.watches += [absent]

    listener = listen()

    reported = [listener.next() for _ in range(4)]
    assert reported == [("REPLACE", (), ""), ("REPLACE", ("a",), "6"), ("REPLACE", (), ""), ("REPLACE", ("b",), "9")]


def test_repeated_and_late_events_are_ignored(api: FakeApi, listen: Listen) -> None:
    first, second = line("ADDED", widget("a", 8)), line("MODIFIED", widget("a", 10))
    late = line("MODIFIED", widget("a", 9))
    api.lists += [page(version=7)]
    api.watches += [
        events(first, second, late, second, bookmark(9), line("DELETED", widget("a", 11)), then=Handler.hold)
    ]

    listener = listen()

    reported = [listener.next() for _ in range(4)]
    assert reported == [("REPLACE", (), "7"), ("ADDED", "a", "8"), ("MODIFIED", "a", "10"), ("DELETED", "a", "11")]


def test_a_listener_that_fails_gets_a_new_list(api: FakeApi, cluster: ClusterClient) -> None:
    reported: queue.Queue[tuple[object, ...]] = queue.Queue()

    def fail_once(kind: str, name: str, version: str) -> None:
        raise LookupError("a bug in the listener")

    rests: list[float] = []
    api.lists += [page(version=1), page(widget("a", 2), version=2)]
    api.watches += [events(line("ADDED", widget("a", 2)), then=Handler.hold)]
    reflector: Reflector[str] = Reflector(
        cluster,
        WIDGETS,
        fail_once,
        on_replace=lambda items, version: reported.put((items, version)),
        keep=lambda manifest: str(manifest["metadata"]["name"]),
        rest=rests.append,
    )
    reflector.start()

    assert reported.get(timeout=PATIENCE) == ((), "1")
    assert reported.get(timeout=PATIENCE) == (("a",), "2")
    reflector.stop()
    assert len(rests) == 1


def test_a_listener_that_fails_while_a_crd_is_absent_is_called_again(api: FakeApi, cluster: ClusterClient) -> None:
    reported: queue.Queue[tuple[object, ...]] = queue.Queue()

    def fail_once(items: tuple[str, ...], version: str) -> None:
        reported.put((items, version))
        if reported.qsize() == 1:
            raise LookupError("a bug in the listener")

    api.lists += [status(404, "NotFound"), status(404, "NotFound"), page(widget("a", 2), version=2)]
    reflector: Reflector[str] = Reflector(
        cluster,
        WIDGETS,
        lambda *_: None,
        on_replace=fail_once,
        keep=lambda manifest: str(manifest["metadata"]["name"]),
        rest=lambda _: None,
    )
    reflector.start()

    assert reflector.synced.wait(PATIENCE)
    eventually(lambda: reported.qsize() == 3)
    reflector.stop()
    assert [reported.get() for _ in range(3)] == [((), ""), ((), ""), (("a",), "2")]


def test_stop_wakes_a_blocked_read(api: FakeApi, listen: Listen) -> None:
    api.watches += [events(line("ADDED", widget("a", 2)), then=Handler.hold)]
    listener = listen()
    assert [listener.next()[0], listener.next()[0]] == ["REPLACE", "ADDED"]

    listener.reflector.stop(timeout=PATIENCE)

    assert listener.reflector.state == "stopped"
    assert listener.rests == []  # it ended by itself, not through a failure


def test_stop_interrupts_a_backoff(api: FakeApi, cluster: ClusterClient) -> None:
    api.lists += [status(429, "TooManyRequests", retry_after=100)]
    reflector: Reflector[object] = Reflector(
        cluster, WIDGETS, lambda kind, item, version: None, on_replace=lambda items, version: None, keep=id
    )
    reflector.start()
    api.wait_for(lambda seen: len(seen) == 1)

    reflector.stop(timeout=PATIENCE)

    assert reflector.state == "stopped"


def test_a_reflector_stopped_before_its_start_sends_no_request(api: FakeApi, cluster: ClusterClient) -> None:
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


def test_managed_fields_never_reach_the_listener(api: FakeApi, cluster: ClusterClient) -> None:
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
