"""The HTTP response parser: pieces of any size, and invalid responses as broken connections."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from urllib3.exceptions import ProtocolError

from cluster.client import MERGE_PATCH, ClusterClient
from cluster.endpoint import Endpoint
from cluster.errors import Unreachable
from cluster.exchange import HttpAnswer, exchange
from tests.cluster.fake import FakeApi, Handler, status
from tests.profiles import each_case

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"


@contextmanager
def answering(*pieces: bytes, ends: bool = False) -> Iterator[socket.socket]:
    """A connection to somebody who sends this, whatever it is asked; `ends`: and hangs up."""
    ours, theirs = socket.socketpair()
    with ours, theirs:

        def answer() -> None:
            theirs.recv(1000)
            for piece in pieces:
                theirs.sendall(piece)
            if ends:
                theirs.shutdown(socket.SHUT_WR)

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield ours
        finally:
            thread.join()


def answered(*pieces: bytes, ends: bool = False) -> HttpAnswer:
    with answering(*pieces, ends=ends) as connection:
        return exchange(connection, b"PATCH / HTTP/1.1\r\n\r\n", 5.0, 30.0)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (LENGTH + b"\r\n{}", HttpAnswer(200, None, b"{}")),
        (b"HTTP/1.1 201\r\ncontent-length:2\r\n\r\n{}", HttpAnswer(201, None, b"{}")),
        (b"HTTP/1.1 429 Too Many\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n", HttpAnswer(429, "3", b"")),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + LENGTH + b"\r\n{}", HttpAnswer(200, None, b"{}")),
        (b"HTTP/1.1 204 No Content\r\n\r\n", HttpAnswer(204, None, b"")),
        (
            CHUNKED + b'3;x=y\r\n{"a\r\nA\r\n": 1234567\r\n1\r\n}\r\n0\r\nT: x\r\n\r\n',
            HttpAnswer(200, None, b'{"a": 1234567}'),
        ),
        (LENGTH + b"Connection: close\r\n\r\n{}", HttpAnswer(200, None, b"{}", reusable=False)),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", HttpAnswer(200, None, b"{}", reusable=False)),
        (LENGTH + b"\r\n{}HTTP/1.1 200 OK", HttpAnswer(200, None, b"{}", reusable=False)),
    ],
)
def test_a_response_is_the_same_in_one_piece_and_byte_by_byte(sent: bytes, expected: HttpAnswer) -> None:
    assert answered(sent) == expected
    single = answered(*(sent[at : at + 1] for at in range(len(sent))))
    assert single[:3] == expected[:3]


def test_a_response_without_a_length_ends_with_the_connection() -> None:
    assert answered(b"HTTP/1.1 200 OK\r\n\r\n{", b"}", ends=True) == HttpAnswer(200, None, b"{}", reusable=False)


@each_case(
    "sent",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2",
        LENGTH + b"\r\n{",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n{}",
        CHUNKED + b"2\r\n{}}\r\n0\r\n\r\n",
        CHUNKED + b"0x2\r\n{}\r\n0\r\n\r\n",
        CHUNKED + b"2\r\n{}\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000,
    ],
)
def test_an_incomplete_response_is_a_broken_connection(sent: bytes) -> None:
    with pytest.raises(ProtocolError):
        answered(sent, ends=True)


def test_a_missing_response_times_out() -> None:
    with answering(LENGTH) as connection, pytest.raises(TimeoutError):
        exchange(connection, b"PATCH / HTTP/1.1\r\n\r\n", 0.05, 30.0)


@pytest.mark.parametrize("head", [CHUNKED + b"9999\r\n", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: "])
def test_a_response_that_comes_byte_by_byte_times_out(head: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:

        def drip() -> None:
            theirs.sendall(head)
            with suppress(OSError):
                while True:
                    theirs.sendall(b"x")
                    time.sleep(0.01)

        thread = threading.Thread(target=drip)
        thread.start()
        with pytest.raises(TimeoutError):
            exchange(ours, b"GET / HTTP/1.1\r\n\r\n", 5.0, 0.1)
        ours.shutdown(socket.SHUT_RDWR)
        thread.join()


def patched(handler: Handler) -> None:
    handler.send_json(200, {"metadata": {"resourceVersion": "2"}})


def write(cluster: ClusterClient) -> object:
    return cluster.patch("/apis/example.dev/v1/a", {"a": "\u00e4"}, MERGE_PATCH, field_manager="a b")


def test_writes_are_the_same_over_a_new_and_a_reused_connection(api: FakeApi) -> None:
    api.others.extend([patched] * 3)
    with api.cluster() as cluster:
        for _ in range(3):
            assert write(cluster) == {"metadata": {"resourceVersion": "2"}}

    first, *others = api.seen
    assert len(api.connections) == 1
    assert (first.path, first.query, first.body) == ("/apis/example.dev/v1/a", {"fieldManager": "a b"}, {"a": "\u00e4"})
    for seen in others:
        assert (seen.method, seen.path, seen.query, seen.body) == (first.method, first.path, first.query, first.body)
        assert dict(sorted(seen.headers.items())) == dict(sorted(first.headers.items()))


def test_a_client_recovers_from_errors_on_a_reused_connection(api: FakeApi) -> None:
    api.others.extend([patched, status(409, "Conflict"), Handler.reset, patched, Handler.hold, patched])
    with api.cluster(attempts=1) as cluster:
        write(cluster)
        with pytest.raises(Exception, match="409"):
            write(cluster)
        with pytest.raises(Unreachable, match="the connection broke") as broken:
            write(cluster)
        assert broken.value.sent
        assert write(cluster) == {"metadata": {"resourceVersion": "2"}}
    assert len(api.connections) == 2


def test_an_invalid_header_value_is_not_sent(api: FakeApi) -> None:
    api.others.extend([patched, patched])
    headers = iter(["good", "bad\r\nX-Evil: 1"])
    endpoint = Endpoint(api.url, authorization=lambda: next(headers))
    with ClusterClient(endpoint, attempts=1) as cluster:
        write(cluster)
        cluster._wire._live._renew_at = 0.0
        with pytest.raises(ValueError, match="Invalid header value"):
            write(cluster)
    assert len(api.seen) == 1


def test_a_response_before_the_end_of_the_request_is_read() -> None:
    """If a body is too large for the API server, it returns 413 and closes the connection."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"HTTP/1.1 413 Request Entity Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
        theirs.shutdown(socket.SHUT_RD)

        assert exchange(ours, b"x" * 2**20, 5.0, 30.0) == HttpAnswer(413, None, b"{}", reusable=False)
