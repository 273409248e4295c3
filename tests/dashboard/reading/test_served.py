"""Certificates that servers present: read from the servers, cached, and never waited for for long."""

from __future__ import annotations

import socket
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from certs.pki import CertificateFacts
from certs.presented import TlsServer, reached, server_name
from dashboard.reading import served
from dashboard.reading.served import (
    LASTS,
    UNASKED,
    NamedServer,
    Presented,
    ServedCertificates,
    named_servers,
    of_server,
)
from tests.dashboard.presenting import presenting
from tests.waiting import eventually

ONE = TlsServer("one", 443, "one")


def test_the_certificate_of_a_server_is_read(tmp_path: Path) -> None:
    with presenting(tmp_path, timedelta(days=4), timedelta(days=30)) as server:
        found = of_server(server)

    assert isinstance(found, CertificateFacts)
    assert timedelta(days=25) < found.not_after - datetime.now(UTC) < timedelta(days=27)


def test_a_server_that_refuses_the_connection_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    found = of_server(TlsServer("127.0.0.1", port, ""))

    assert isinstance(found, str)
    assert found.startswith(f"127.0.0.1:{port}: ")
    assert "refused" in found


def test_certificates_are_cached_and_a_hanging_server_blocks_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "_PATIENCE", 0.05)
    now, asked, go = [0.0], [], threading.Event()

    def ask(server: TlsServer) -> Presented:
        asked.append(server)
        go.wait(30)
        return f"answer {len(asked)}"

    known = ServedCertificates(ask, lambda: now[0])
    assert known.of([ONE, ONE]) == {ONE: UNASKED}
    assert known.of([ONE]) == {ONE: UNASKED}
    assert asked == [ONE], "not again while it hangs"
    go.set()
    eventually(lambda: known.of([ONE]) == {ONE: "answer 1"})
    now[0] += LASTS
    assert known.of([ONE]) in ({ONE: "answer 1"}, {ONE: "answer 2"}), "the last certificate is used meanwhile"
    eventually(lambda: known.of([ONE]) == {ONE: "answer 2"})
    assert asked == [ONE, ONE]


def test_only_servers_with_certificates_are_read() -> None:
    urls = [("/v1", "https://here:8443/x", None), ("the audit", "http://127.0.0.1:1", None), ("b", "https://h", "name")]

    assert named_servers(urls) == [
        NamedServer("/v1", TlsServer("here", 8443, "here")),
        NamedServer("b", TlsServer("h", 443, "name")),
    ]
    assert reached({"url": "https://127.0.0.1:9443/validate"}) == TlsServer("127.0.0.1", 9443, "127.0.0.1")
    assert reached({"service": {"name": "quotree-webhook", "namespace": "quotree-system"}}) is None, "not in a Pod"


@pytest.mark.parametrize("url", ["https://h:99999/validate", "https://[h/validate"])
def test_an_invalid_url_is_not_a_server(url: str) -> None:
    assert reached({"url": url}) is None
    assert server_name({"url": url}) == ""


def test_servers_beyond_the_maximum_are_not_read_and_reported_as_such() -> None:
    many = [TlsServer(f"s{number}", 443, "") for number in range(40)]
    asked: list[TlsServer] = []

    def ask(server: TlsServer) -> Presented:
        asked.append(server)
        return "known"

    found = ServedCertificates(ask).of(many)

    assert list(found) == many
    assert len(asked) < len(many)
    assert found[many[-1]] == UNASKED
