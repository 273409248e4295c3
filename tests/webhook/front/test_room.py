"""Which connection is closed if there are too many."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Protocol

import pytest

from webhook.front.connection import ClientConnection, ConnectionState, least, slowest


class Make(Protocol):
    def __call__(
        self, state: ConnectionState, since: float, *, served: bool = ..., reserved: int = ...
    ) -> ClientConnection: ...


@pytest.fixture
def make() -> Iterator[Make]:
    with ExitStack() as opened:

        def connection(
            state: ConnectionState, since: float, *, served: bool = False, reserved: int = 0
        ) -> ClientConnection:
            made = ClientConnection(opened.enter_context(socket.socket()), "", since, 0.0)
            made.state, made.served, made.reserved = state, served, reserved
            return made

        yield connection


def test_connections_are_closed_in_the_order_of_their_state_and_age(make: Make) -> None:
    order = [
        make(ConnectionState.ENDING, 9, served=True),
        make(ConnectionState.IDLE, 1),
        make(ConnectionState.HANDSHAKE, 2),
        make(ConnectionState.READING, 3),
        make(ConnectionState.IDLE, 4, served=True),
        make(ConnectionState.IDLE, 5, served=True),
        make(ConnectionState.READING, 0, served=True),
    ]
    stay = [make(ConnectionState.WORKING, 0, served=True), make(ConnectionState.WRITING, 0, served=True)]

    left = [*stay, *reversed(order)]
    for expected in order:
        assert least(left) is expected
        left.remove(expected)
    assert least(left) is None


def test_the_slowest_connection_with_a_large_body_is_closed(make: Make) -> None:
    slow, slower = make(ConnectionState.READING, 5.0, reserved=1), make(ConnectionState.READING, 4.0, reserved=1)
    small, judged = make(ConnectionState.READING, 1.0), make(ConnectionState.WORKING, 1.0, reserved=1)

    assert slowest([slow, slower, small, judged], 6.0) is slower
    assert slowest([slow, small, judged], 6.0) is None  # within a second it may be an API server's
    assert slowest([], 6.0) is None
