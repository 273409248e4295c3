"""/v1 over the network: TLS, errors as Kubernetes Status objects, and clients that misbehave."""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from certs import files
from certs.tls import ReloadingContext
from cluster.addresses import is_loopback
from cluster.api.document import ApiDocument
from cluster.api.server import Answers, ApiServer
from reconciler.api.routes import ReconcilerApi
from tests.reconciler.api.organisation import api, core, organisation
from tests.waiting import SECONDS

PENDING = "/v1/clusterqueues/a/pendingworkloads"


@contextmanager
def serving(answers: Answers, folder: Path | None = None) -> Iterator[ApiServer]:
    tls = None
    if folder is not None:
        files.ensure(folder, ("127.0.0.1", "localhost"), datetime.now(UTC))
        tls = ReloadingContext(folder / "tls.crt", folder / "tls.key").current
    server = ApiServer("127.0.0.1", 0, answers, tls)
    server.start()
    try:
        yield server
    finally:
        server.close()


def get(url: str, token: str | None, trust: Path | None = None, method: str = "GET") -> tuple[int, Any, Any]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    context = ssl.create_default_context(cafile=trust) if trust else None
    request = urllib.request.Request(url, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS, context=context) as answer:
            return answer.status, json.load(answer), answer.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error), error.headers


def test_a_caller_gets_json_over_tls(tmp_path: Path) -> None:
    with serving(api(core(*organisation())), tmp_path) as server:
        url = f"https://127.0.0.1:{server.server_port}{PENDING}"
        status, found, headers = get(url, "admin", tmp_path / "ca.crt")

    assert (status, found["kind"], found["items"]) == (200, "PendingWorkloadsSummary", [])
    assert headers["Content-Type"] == "application/json"
    assert headers["Cache-Control"] == "no-store"


def test_errors_are_kubernetes_status_objects() -> None:
    with serving(api(core(*organisation()))) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        nobody, headers = get(url + PENDING, None)[1:]
        forbidden = get(url + PENDING, "nobody")
        missing = get(url + "/v1/nothing", "admin")
        posted = get(url + PENDING, "admin", method="POST")
        long = get(url + PENDING + "/" + "a" * 70_000, "admin")

    assert (nobody["kind"], nobody["status"], nobody["reason"], nobody["code"]) == (
        "Status",
        "Failure",
        "Unauthorized",
        401,
    )
    assert headers["WWW-Authenticate"] == "Bearer"
    assert (forbidden[0], forbidden[1]["reason"]) == (403, "Forbidden")
    assert "may not get clusterqueues.visibility.kueue.x-k8s.io/pendingworkloads" in forbidden[1]["message"]
    assert (missing[0], missing[1]["reason"]) == (404, "NotFound")
    assert (posted[0], posted[1]["reason"]) == (405, "MethodNotAllowed")
    assert (long[0], long[1]["message"]) == (414, HTTPStatus(414).phrase)


def test_a_busy_reconciler_returns_503_and_an_internal_error_500() -> None:
    class Busy:
        def answer(self, path: str, *_: Any) -> dict[str, Any]:
            if path == "/busy":
                return api_of(lambda *_: (_ for _ in ()).throw(TimeoutError())).answer("/v1/tree", "Bearer admin")
            raise ZeroDivisionError

    def api_of(ask: Any) -> ReconcilerApi:
        made = api(core(*organisation()))
        made._ask = ask
        return made

    with serving(Busy()) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        busy, fault = get(f"{url}/busy", None), get(f"{url}/fault", None)

    assert (busy[0], busy[1]["reason"], busy[2]["Retry-After"]) == (503, "ServiceUnavailable", "1")
    assert (fault[0], fault[1]["reason"]) == (500, "InternalError")


def test_a_client_that_disconnects_early_is_not_an_internal_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    left, ended = threading.Event(), threading.Event()

    class Slow:
        def answer(self, *_: Any) -> dict[str, Any]:
            left.wait(10)
            return {"items": ["x" * 1000] * 10_000}

    monkeypatch.setattr(ApiServer, "handle_error", lambda *_: ended.set())
    with serving(Slow()) as server:
        client = socket.create_connection(("127.0.0.1", server.server_port))
        client.sendall(b"GET /v1/tree HTTP/1.1\r\n\r\n")
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close with a reset
        client.close()
        left.set()

        assert ended.wait(10)
    assert "internal error" not in caplog.text


def test_an_idle_connection_does_not_block_other_clients(tmp_path: Path) -> None:
    with serving(api(core(*organisation())), tmp_path) as server:
        address = ("127.0.0.1", server.server_port)
        with socket.create_connection(address), socket.create_connection(address) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\n\r\n")  # no TLS
            url = f"https://127.0.0.1:{server.server_port}/v1/tree"
            assert get(url, "admin", tmp_path / "ca.crt")[0] == 200


@pytest.mark.parametrize("secure", [True, False])
def test_slow_clients_do_not_block_other_clients(tmp_path: Path, secure: bool) -> None:
    with serving(api(core(*organisation())), tmp_path if secure else None) as server, ExitStack() as opened:
        for _ in range(70):
            slow = opened.enter_context(socket.create_connection(("127.0.0.1", server.server_port)))
            slow.sendall(b"GET /" if not secure else b"\x16")

        scheme, trust = ("https", tmp_path / "ca.crt") if secure else ("http", None)
        assert get(f"{scheme}://127.0.0.1:{server.server_port}/v1/tree", "admin", trust)[0] == 200


@pytest.mark.parametrize("secure", [True, False])
def test_slow_readers_do_not_block_other_clients(tmp_path: Path, secure: bool) -> None:
    long = ApiDocument(items=["x" * 1000] * 8_000)  # encoded once for all of them

    class Long:
        def answer(self, path: str, *_: Any) -> dict[str, Any]:
            return {"items": []} if path == "/short" else long

    with serving(Long(), tmp_path if secure else None) as server, ExitStack() as opened:
        for _ in range(70):
            slow = socket.create_connection(("127.0.0.1", server.server_port))
            if secure:
                trusted = ssl.create_default_context(cafile=tmp_path / "ca.crt")
                slow = trusted.wrap_socket(slow, server_hostname="localhost")
            opened.enter_context(slow).sendall(b"GET /long HTTP/1.1\r\n\r\n")
            assert slow.recv(1)

        scheme, trust = ("https", tmp_path / "ca.crt") if secure else ("http", None)
        assert get(f"{scheme}://127.0.0.1:{server.server_port}/short", "admin", trust)[0] == 200


def test_a_new_certificate_is_served_to_the_next_connection(tmp_path: Path) -> None:
    other = tmp_path / "other"
    files.ensure(other, ("127.0.0.1",), datetime.now(UTC))
    with serving(api(core(*organisation())), tmp_path) as server:
        url = f"https://127.0.0.1:{server.server_port}/v1/tree"
        assert get(url, "admin", tmp_path / "ca.crt")[0] == 200
        for name in ("tls.crt", "tls.key"):
            (tmp_path / name).unlink()
            (tmp_path / name).write_bytes((other / name).read_bytes())
        assert get(url, "admin", other / "ca.crt")[0] == 200


@pytest.mark.parametrize(
    ("host", "alone"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False)]
)
def test_plain_http_is_allowed_on_loopback_only(host: str, alone: bool) -> None:
    assert is_loopback(host) == alone
    if not alone:
        with pytest.raises(ValueError, match="unencrypted"):
            ApiServer(host, 0, api(core(*organisation())))


def test_one_encoded_tree_is_served_to_several_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Encoding a tree of 10 000 queues blocks the loop's thread as long as reading it."""
    written: list[int] = []

    def pieces(value: object) -> list[str]:
        written.append(1)
        return [json.dumps(value)]

    monkeypatch.setattr("cluster.api.document._pieces", pieces)
    with serving(api(core(*organisation()))) as server:
        url = f"http://127.0.0.1:{server.server_port}/v1/tree"
        answers = [get(url, "admin")[1] for _ in range(3)]

    assert answers[0] == answers[1] == answers[2]
    assert len(written) == len(answers[0])
