"""Requests: their content, retries and errors."""

import gzip
import json
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from cluster.client import MERGE_PATCH, ClusterClient
from cluster.endpoint import Endpoint
from cluster.errors import ApiError, BadAnswer, Conflict, Forbidden, Gone, NotFound, Unauthorized, Unreachable
from cluster.reflector import whole
from cluster.wire import Timeouts
from tests.cluster.fake import PATIENCE, WIDGETS, FakeApi, Handler, Reply, events, line, page, status, widget

ITEM = WIDGETS.item("a", "default")


def ok(answer: Any) -> Reply:
    return lambda handler: handler.send_json(200, answer)


def test_get_returns_the_plain_object(api: FakeApi, cluster: ClusterClient) -> None:
    api.others += [ok(widget("a", 3, size=1))]

    assert cluster.get(ITEM, {"pretty": "0"}) == widget("a", 3, size=1)
    (seen,) = api.seen
    assert (seen.method, seen.path, seen.query) == ("GET", ITEM, {"pretty": "0"})
    assert seen.headers["Accept"] == "application/json"


def test_each_write_method_sends_its_verb_query_and_body(api: FakeApi, cluster: ClusterClient) -> None:
    api.others += [ok({})] * 7
    body = {"spec": {"size": 2}}

    cluster.create(ITEM, body, field_manager="me")
    cluster.replace(ITEM, body)
    cluster.patch(ITEM, body, MERGE_PATCH)
    cluster.apply(ITEM, body, "me", force=True)
    cluster.delete(ITEM, resource_version="7")
    cluster.delete(ITEM)
    cluster.delete(ITEM, uid="u1", propagation="Background")

    assert [(seen.method, seen.query, seen.body) for seen in api.seen] == [
        ("POST", {"fieldManager": "me"}, body),
        ("PUT", {}, body),
        ("PATCH", {}, body),
        ("PATCH", {"fieldManager": "me", "force": "true"}, body),
        ("DELETE", {}, {"preconditions": {"resourceVersion": "7"}}),
        ("DELETE", {}, None),
        ("DELETE", {}, {"preconditions": {"uid": "u1"}, "propagationPolicy": "Background"}),
    ]
    assert [seen.headers.get("Content-Type") for seen in api.seen] == [
        "application/json",
        "application/json",
        "application/merge-patch+json",
        "application/apply-patch+yaml",
        "application/json",
        None,
        "application/json",
    ]


def test_list_reads_all_pages_and_sets_the_kind_of_each_item(api: FakeApi, cluster: ClusterClient) -> None:
    bare = {"metadata": {"name": "a"}}
    api.lists += [page(bare, proceed="x y&z", version=4), page({"metadata": {"name": "b"}}, version=4)]

    assert list(cluster.list(WIDGETS, 2, namespace="default", label_selector="team=ml")) == [
        {"apiVersion": "example.dev/v1", "kind": "Widget", "metadata": {"name": name}} for name in ("a", "b")
    ]
    assert [seen.query for seen in api.seen] == [
        {"limit": "2", "labelSelector": "team=ml"},
        {"limit": "2", "labelSelector": "team=ml", "continue": "x y&z"},
    ]


@pytest.mark.parametrize("owners", [False, True])
def test_only_a_resource_with_owners_keeps_managed_fields(api: FakeApi, cluster: ClusterClient, owners: bool) -> None:
    meta = {"name": "a", "managedFields": [{"manager": "kubectl"}]}
    api.lists += [page({"metadata": meta}, version=4)]

    (found,) = cluster.list(replace(WIDGETS, owners=owners), namespace="default")
    assert ("managedFields" in found["metadata"]) is owners


def test_lists_and_watches_select_by_field(api: FakeApi, cluster: ClusterClient) -> None:
    chosen = "metadata.name=a,status.phase!=Failed"

    list(cluster.list(WIDGETS, namespace="default", label_selector="team=ml", field_selector=chosen))
    cluster.snapshot(WIDGETS, whole, field_selector=chosen)
    with cluster.watch(WIDGETS, "1", field_selector=chosen, seconds=60):
        pass

    assert [seen.query["fieldSelector"] for seen in api.seen] == [chosen] * 3
    assert [seen.query.get("labelSelector") for seen in api.seen] == ["team=ml", None, None]


def test_list_raises_gone_when_the_continue_token_expired(api: FakeApi, cluster: ClusterClient) -> None:
    api.lists += [page(widget("a", 1), proceed="more"), status(410, "Expired")]

    with pytest.raises(Gone):
        list(cluster.list(WIDGETS))


def test_a_snapshot_keeps_function_results_and_fails_after_three_attempts(api: FakeApi, cluster: ClusterClient) -> None:
    api.lists += [page(widget("a", 1), version=5)]
    listing = cluster.snapshot(WIDGETS, lambda manifest: manifest["metadata"]["name"])
    assert (listing.items, listing.resource_version) == (("a",), "5")

    api.lists += [page(widget("a", 1), proceed="more"), status(410, "Expired")] * 3
    with pytest.raises(Gone):
        cluster.snapshot(WIDGETS, len)


def test_a_snapshot_starts_again_when_the_continue_token_expired(api: FakeApi, cluster: ClusterClient) -> None:
    api.lists += [page(widget("a", 1), proceed="more"), status(410, "Expired"), page(widget("b", 2), version=9)]

    listing = cluster.snapshot(WIDGETS, lambda manifest: manifest["metadata"]["name"])

    assert (listing.items, listing.resource_version) == (("b",), "9")


def test_served_reports_whether_a_resource_exists(api: FakeApi, cluster: ClusterClient) -> None:
    resources = {"kind": "APIResourceList", "resources": [{"name": "widgets"}, {"name": "widgets/status"}]}
    api.others += [ok(resources), ok({"kind": "APIResourceList", "resources": None}), status(404, "NotFound")]

    assert [cluster.served(WIDGETS) for _ in range(3)] == [True, False, False]
    assert {seen.path for seen in api.seen} == {"/apis/example.dev/v1"}


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (409, "AlreadyExists", Conflict),
        (410, "Expired", Gone),
        (422, "Invalid", ApiError),
    ],
)
def test_a_status_becomes_an_error_with_all_its_fields(
    api: FakeApi, cluster: ClusterClient, code: int, reason: str, kind: type[ApiError]
) -> None:
    details = {"name": "a", "causes": [{"field": "spec.size"}]}
    answer = {"kind": "Status", "code": code, "reason": reason, "message": "no", "details": details}
    api.others += [lambda handler: handler.send_json(code, answer)]

    with pytest.raises(kind) as caught:
        cluster.create(ITEM, {})

    error = caught.value
    assert type(error) is kind
    assert (error.status, error.reason, error.message, error.details) == (code, reason, "no", details)
    assert str(error).startswith(f"POST {ITEM}: {code} {reason}: no")


def test_a_failure_without_a_status_object_has_the_beginning_of_the_body(api: FakeApi, cluster: ClusterClient) -> None:
    api.others += [lambda handler: handler.send_json(502, b"<h1>Bad gateway</h1>" + b"x" * 1000)]

    with pytest.raises(ApiError, match="502: <h1>Bad gateway</h1>") as caught:
        cluster.create(ITEM, {})
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("body", [b"<html>login</html>", b"[1]", b"", b"[" * 100_000])
def test_a_response_that_is_not_an_object_is_an_error(api: FakeApi, cluster: ClusterClient, body: bytes) -> None:
    api.others += [lambda handler: handler.send_json(200, body)]

    with pytest.raises(BadAnswer, match="check that the server address"):
        cluster.get(ITEM)


def test_a_list_without_a_version_is_refused(api: FakeApi, cluster: ClusterClient) -> None:
    api.lists += [ok({"items": []})]

    with pytest.raises(BadAnswer, match="not a list with a resource version"):
        list(cluster.list(WIDGETS))


def patient(api: FakeApi) -> tuple[ClusterClient, list[float]]:
    pauses: list[float] = []
    return api.cluster(pause=pauses.append), pauses


def test_reading_is_repeated_after_a_broken_connection_and_503(api: FakeApi) -> None:
    cluster, pauses = patient(api)
    api.others += [Handler.reset, status(503, "ServiceUnavailable"), ok({"found": True})]

    with cluster:
        assert cluster.get(ITEM) == {"found": True}
    assert len(pauses) == 2


def test_a_read_fails_after_three_attempts(api: FakeApi) -> None:
    cluster, _ = patient(api)
    api.others += [status(503, "ServiceUnavailable")] * 5

    with cluster, pytest.raises(ApiError):
        cluster.get(ITEM)
    assert len(api.seen) == 3


def test_a_write_that_may_have_arrived_is_not_repeated(api: FakeApi) -> None:
    cluster, pauses = patient(api)
    api.others += [Handler.reset, ok({})]

    with cluster, pytest.raises(Unreachable, match="the connection broke"):
        cluster.create(ITEM, {})
    assert (len(api.seen), pauses) == (1, [])


def test_a_write_that_got_429_is_retried_after_retry_after(api: FakeApi) -> None:
    cluster, pauses = patient(api)
    api.others += [status(429, "TooManyRequests", retry_after=3), ok({"done": True})]

    with cluster:
        assert cluster.create(ITEM, {}) == {"done": True}
    assert pauses == [3.0]


def test_a_long_retry_after_is_left_to_the_caller(api: FakeApi) -> None:
    cluster, pauses = patient(api)
    api.others += [status(429, "TooManyRequests", retry_after=60)]

    with cluster, pytest.raises(ApiError) as caught:
        cluster.get(ITEM)
    assert (caught.value.retry_after, pauses) == (60.0, [])


def test_a_request_without_a_response_times_out(api: FakeApi) -> None:
    api.others += [Handler.hold]

    impatient = api.cluster(timeouts=Timeouts(connect=1.0, read=0.1), attempts=1)
    with impatient, pytest.raises(Unreachable, match="no answer in time"):
        impatient.get(ITEM)


def test_a_response_that_comes_byte_by_byte_times_out(api: FakeApi) -> None:
    def drip(handler: Handler) -> None:
        handler.begin_chunks()
        while not api.released.wait(0.01):
            handler.send_chunk(b" ")

    api.others += [drip]
    impatient = api.cluster(timeouts=Timeouts(connect=1.0, read=0.1), attempts=1)
    with impatient, pytest.raises(Unreachable, match="no answer in time"):
        impatient.get(ITEM)


def test_a_compressed_response_is_not_expanded(api: FakeApi, cluster: ClusterClient) -> None:
    small = gzip.compress(b'{"a": 1}')
    api.others += [lambda handler: handler.send_json(200, small, {"Content-Encoding": "gzip"})]

    with pytest.raises(BadAnswer, match="not JSON"):
        cluster.get(ITEM)


def test_a_large_write_that_the_server_does_not_read_times_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = Endpoint(f"http://127.0.0.1:{silent.getsockname()[1]}")
        with (
            ClusterClient(endpoint, timeouts=Timeouts(connect=0.1, read=0.1), attempts=1) as impatient,
            pytest.raises(Unreachable, match="no answer in time") as caught,
        ):
            impatient.patch(ITEM, {"metadata": {"name": "x" * 2**23}}, MERGE_PATCH)

    assert caught.value.slow


def test_a_timeout_function_is_called_before_each_request(api: FakeApi) -> None:
    api.others += [lambda handler: handler.send_json(200, {"metadata": {}}), Handler.hold]
    found = [Timeouts(connect=1.0, read=0.1), Timeouts(connect=1.0, read=PATIENCE)]

    with api.cluster(timeouts=found.pop, attempts=1) as cluster:
        cluster.patch(ITEM, {}, MERGE_PATCH)
        with pytest.raises(Unreachable, match="no answer in time"):
            cluster.patch(ITEM, {}, MERGE_PATCH)
    assert not found


def test_a_refused_connection_is_retried_and_reported(api: FakeApi) -> None:
    cluster, pauses = patient(api)
    api.close()

    with cluster, pytest.raises(Unreachable, match=r"no connection \(Connection refused\); check the server address"):
        cluster.create(ITEM, {})
    assert len(pauses) == 2  # never sent, so even a write is tried again


def test_redirects_are_not_followed(api: FakeApi, cluster: ClusterClient) -> None:
    api.others += [lambda handler: handler.send_json(302, {}, {"Location": "http://127.0.0.1:1/login"})]

    with pytest.raises(ApiError, match="302"):
        cluster.get(ITEM)


def test_a_path_in_the_address_is_kept(api: FakeApi) -> None:
    api.others += [ok({})]
    with ClusterClient(Endpoint(f"{api.url}/k8s/clusters/c-1")) as cluster:
        cluster.get("/version")

    assert api.seen[0].path == "/k8s/clusters/c-1/version"


def test_the_token_is_not_read_for_each_request(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster.wire._TOKEN_LASTS", float("inf"))
    tokens = iter(("one", "two"))
    api.others += [ok({})] * 3
    with ClusterClient(Endpoint(api.url, authorization=lambda: next(tokens))) as cluster:
        for _ in range(3):
            cluster.get(ITEM)

    assert [seen.headers["Authorization"] for seen in api.seen] == ["one"] * 3


def test_only_a_dry_run_sends_dry_run(api: FakeApi) -> None:
    api.others += [ok({})] * 4
    with api.cluster() as cluster:
        cluster.create(ITEM, {}, dry_run=True)
        cluster.patch(ITEM, {}, MERGE_PATCH, field_manager="me", dry_run=True)
        cluster.create(ITEM, {})
        cluster.patch(ITEM, {}, MERGE_PATCH)

    assert [seen.query for seen in api.seen] == [{"dryRun": "All"}, {"dryRun": "All", "fieldManager": "me"}, {}, {}]


def test_text_returns_the_body_or_raises_an_error(api: FakeApi) -> None:
    api.others += [lambda handler: handler.send_json(200, b"up 1\n\xff"), status(403, "Forbidden")]
    with api.cluster() as cluster:
        assert cluster.text(ITEM) == "up 1\n\ufffd"
        with pytest.raises(Forbidden):
            cluster.text(ITEM)


def endpoints(api: FakeApi, tokens: list[str]) -> Callable[[], Endpoint]:
    def login() -> Endpoint:
        token = tokens.pop(0)
        return Endpoint(api.url, authorization=lambda: f"Bearer {token}")

    return login


def test_rejected_credentials_are_renewed_once(api: FakeApi) -> None:
    login = endpoints(api, ["old", "new", "newer"])
    api.others += [status(401, "Unauthorized"), ok({"in": True}), status(401, "Unauthorized")]

    with ClusterClient(login(), relogin=login) as cluster:
        assert cluster.get(ITEM) == {"in": True}
        with pytest.raises(Unauthorized, match="kubectl auth whoami"):  # not again right away
            cluster.get(ITEM)

    assert [seen.headers["Authorization"] for seen in api.seen] == ["Bearer old", "Bearer new", "Bearer new"]


def test_a_thread_uses_credentials_that_another_thread_renewed(api: FakeApi) -> None:
    login = endpoints(api, ["old", "new"])
    both_refused = threading.Barrier(2)

    def refuse(handler: Handler) -> None:
        both_refused.wait(PATIENCE)
        status(401, "Unauthorized")(handler)

    api.others += [refuse, refuse, ok({"in": True}), ok({"in": True})]
    with ClusterClient(login(), relogin=login) as cluster, ThreadPoolExecutor(2) as pool:
        assert list(pool.map(cluster.get, [ITEM, ITEM])) == [{"in": True}] * 2

    assert sorted(seen.headers["Authorization"] for seen in api.seen) == ["Bearer new"] * 2 + ["Bearer old"] * 2


def test_connections_are_kept_and_shared_by_threads(api: FakeApi, cluster: ClusterClient) -> None:
    api.others += [ok({"n": n}) for n in range(40)]
    answers: list[Any] = []

    def read() -> None:
        for _ in range(10):
            answers.append(cluster.get(ITEM)["n"])

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(answers) == list(range(40))
    assert len(api.connections) <= 4


def test_a_watch_can_be_left_before_its_end(api: FakeApi, cluster: ClusterClient) -> None:
    api.watches += [events(line("ADDED", widget("a", 2)), line("ADDED", widget("b", 3)), then=Handler.hold)]

    with cluster.watch(WIDGETS, "1", seconds=60) as watch:
        first = next(iter(watch))

    assert (first.kind, first.resource_version, first.manifest["metadata"]["name"]) == ("ADDED", "2", "a")
    assert json.dumps(first.manifest)


def test_an_interrupted_watch_ends_without_an_error_while_its_reader_is_blocked(
    api: FakeApi, cluster: ClusterClient
) -> None:
    api.watches += [events(line("ADDED", widget("a", 2)), then=Handler.hold)]

    with cluster.watch(WIDGETS, "1", seconds=60) as watch, ThreadPoolExecutor(1) as reader:
        stream = iter(watch)
        assert next(stream).kind == "ADDED"
        rest = reader.submit(list, stream)
        watch.interrupt()
        assert rest.result(PATIENCE) == []
        watch.interrupt()  # again does no harm
