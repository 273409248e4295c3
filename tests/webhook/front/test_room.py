"""Who gives way where there is no room."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Protocol

import pytest

from webhook.front.connection import ClientConnection, ConnectionState
from webhook.front.room import least, slowest


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


def test_they_give_way_in_their_order(make: Make) -> None:
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


def test_of_those_that_send_large_bodies_the_slowest_gives_way(make: Make) -> None:
    slow, slower = make(ConnectionState.READING, 5.0, reserved=1), make(ConnectionState.READING, 4.0, reserved=1)
    small, judged = make(ConnectionState.READING, 1.0), make(ConnectionState.WORKING, 1.0, reserved=1)

    assert slowest([slow, slower, small, judged], 6.0) is slower
    assert slowest([slow, small, judged], 6.0) is None  # within a second it may be an API server
    assert slowest([], 6.0) is None
