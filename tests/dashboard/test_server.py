"""Requests that the dashboard server rejects before any page; there is no cluster behind it."""

from __future__ import annotations

import http.client
import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dashboard.worker import CONNECTIONS
from tests.waiting import SECONDS, eventually

pytestmark = pytest.mark.apiserver
NOBODY = "http://127.0.0.1:9"
USER, GROUPS = ("X-Forwarded-User", "ann"), ("X-Forwarded-Groups", "staff,dev")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dashboard behind a proxy on this machine."""
    folder = tmp_path_factory.mktemp("dashboard")
    (folder / "token").write_text("token")
    options = [f"--address-file={folder}/address.json", f"--token-file={folder}/token", "--trusted-proxy=127.0.0.1"]
    behind = [f"--reconciler={NOBODY}", f"--api-server={NOBODY}", "--port=0", "--what-ifs=0"]
    command = [str(Path(sys.executable).with_name("quotree")), "serve", "dashboard", *options, *behind]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log, env=environment) as server,
    ):
        try:
            eventually((folder / "address.json").exists, (folder / "log").read_text)
            yield json.loads((folder / "address.json").read_text())["url"]
        finally:
            server.terminate()
            server.wait(SECONDS)


def asked(url: str, *headers: tuple[str, str]) -> int:
    """The status of a page, asked for with these headers, of which some may come twice."""
    where = urlsplit(url)
    with closing(http.client.HTTPConnection(str(where.hostname), where.port or 0, timeout=SECONDS)) as connection:
        connection.putrequest("GET", "/namespaces/speech")
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        answer.read()
        return answer.status


@pytest.mark.parametrize(
    "second", [("X-Forwarded-Groups", "ops"), ("x-forwarded-groups", ""), ("X-Forwarded-User", "bob"), USER]
)
def test_a_duplicate_proxy_header_is_rejected(url: str, second: tuple[str, str]) -> None:
    assert asked(url, USER, GROUPS) not in (400, 401), "there is no cluster behind it"
    assert asked(url, USER, GROUPS, second) == 400
    assert asked(url, second, USER, GROUPS) == 400


def test_a_header_with_underscores_is_not_a_proxy_header(url: str) -> None:
    assert asked(url, GROUPS, ("X_Forwarded_User", "ann")) == 401


@pytest.mark.parametrize("sent", [b"", b"Content-Length: 9\r\n\r\n"], ids=["head", "body"])
@pytest.mark.parametrize("held", [100, CONNECTIONS + 50])
def test_requests_without_an_end_do_not_delay_other_clients(url: str, held: int, sent: bytes) -> None:
    where = urlsplit(url)
    start = b"POST / HTTP/1.1\r\nHost: x\r\nX-Forwarded-User: ann\r\nOrigin: " + url.encode() + b"\r\n"
    with ExitStack() as opened:
        slow = [opened.enter_context(socket.create_connection((str(where.hostname), where.port))) for _ in range(held)]
        for each in slow:
            each.sendall(start + sent)

        assert asked(url, USER) == 200
        assert select.select(slow[-50:], [], [], 0) == ([], [], []), "answered before their time has ended"


def test_clients_that_do_not_close_answered_connections_delay_no_other(url: str) -> None:
    where = urlsplit(url)
    with ExitStack() as opened:
        for _ in range(100):
            slow = opened.enter_context(socket.create_connection((str(where.hostname), where.port)))
            slow.sendall(b"GET /static/style.css HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

        assert asked(url, USER) == 200
