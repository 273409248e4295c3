"""A WSGI app's answer -> bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webhook.front.answering import AppAnswer, answer, refusal
from webhook.front.reading import RequestRefused


class Parts:
    """A body in parts, as an app may give it."""

    def __init__(self) -> None:
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        yield b"one"
        yield b"two"

    def close(self) -> None:
        self.closed = True


def test_a_body_in_parts_gets_its_length_and_is_closed() -> None:
    parts = Parts()

    def app(_: Any, start: Any) -> Parts:
        start("200 OK", [("Content-Type", "text/plain")])
        return parts

    found = answer(app, {})

    assert found == AppAnswer("200 OK", (("Content-Type", "text/plain"), ("Content-Length", "6")), b"onetwo")
    assert parts.closed


def test_the_end_of_a_connection_is_told_once() -> None:
    closing = AppAnswer("413 Content Too Large", (("Connection", "close"),), b"")

    assert closing.closes
    assert closing.rendered(close=True).count(b"Connection: close\r\n") == 1
    assert b"Connection" not in AppAnswer("200 OK", (), b"").rendered(close=False)


def test_who_may_come_again_is_told_when() -> None:
    again = refusal(RequestRefused("429 Too Many Requests", "later", retry=True)).rendered(close=True)
    never = refusal(RequestRefused("400 Bad Request", "no")).rendered(close=True)

    assert again.startswith(b"HTTP/1.1 429 Too Many Requests\r\n")
    assert b"Retry-After: 1\r\n" in again
    assert again.endswith(b"\r\n\r\nlater\n")
    assert b"Retry-After" not in never
