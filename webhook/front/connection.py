"""One connection of a client: its socket, state and deadline; and which one ends at the limit of connections."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
from collections.abc import Iterable
from enum import Enum, auto
from typing import Any

from webhook.front.reading import RequestReader

_PIECE = 64 * 1024
"""The most bytes of one read or write: a TLS record has 16 KiB."""
_QUICK = 1.0
"""Seconds. An API server sends any body faster. A slower client is disconnected if another one needs the room."""


class ConnectionState(Enum):
    HANDSHAKE = auto()
    IDLE = auto()
    """No byte of the next request has arrived."""
    READING = auto()
    WORKING = auto()
    """A thread answers the request and owns the connection. The loop does not touch it."""
    WRITING = auto()
    ENDING = auto()
    """Everything is sent. Bytes that still arrive are dropped, since closing at once could destroy the response."""


class ClientConnection:
    """A non-blocking connection.

    Its methods raise BlockingIOError, SSLWantReadError or SSLWantWriteError if they would have to wait, and any other
    OSError if the connection is gone.
    """

    __slots__ = (
        "_out",
        "_sock",
        "close_after",
        "deadline",
        "failed",
        "peer",
        "reader",
        "reserved",
        "served",
        "since",
        "state",
        "watched",
    )

    def __init__(self, sock: socket.socket, peer: str, now: float, deadline: float) -> None:
        sock.setblocking(False)
        with contextlib.suppress(OSError):  # the client may be gone already
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # send the last bytes of a response at once
        self._sock = sock
        self._out = memoryview(b"")
        self.peer = peer
        self.state = ConnectionState.HANDSHAKE
        self.since = now
        """When the present state began."""
        self.deadline = deadline
        self.served = False
        """Whether a whole request has ever arrived."""
        self.close_after = False
        """Whether the connection ends with the present response."""
        self.failed = False
        """Whether a response could not be sent."""
        self.reserved = 0
        """Bytes of memory that are reserved for its request and response."""
        self.watched = 0
        """The events that the loop waits for."""
        self.reader: RequestReader

    def fileno(self) -> int:
        return self._sock.fileno()

    def secure(self, context: ssl.SSLContext) -> None:
        """Begin TLS. Called when the first bytes have arrived, since TLS takes memory."""
        if not isinstance(self._sock, ssl.SSLSocket):
            self._sock = context.wrap_socket(self._sock, server_side=True, do_handshake_on_connect=False)

    def shake_hands(self) -> None:
        assert isinstance(self._sock, ssl.SSLSocket)
        self._sock.do_handshake()

    @property
    def certificate(self) -> dict[str, Any] | None:
        assert isinstance(self._sock, ssl.SSLSocket)
        return self._sock.getpeercert()

    def gone(self) -> bool:
        """Whether the client has closed the connection; any thread may call it. False if the system cannot tell."""
        poll = select.poll()
        with contextlib.suppress(OSError, ValueError, AttributeError):
            poll.register(self._sock, select.POLLRDHUP)
            return bool(poll.poll(0))
        return False

    def receive(self) -> bytes:
        """The bytes that have arrived; empty if the client has closed the connection."""
        return self._sock.recv(_PIECE)

    def write(self, data: bytes) -> None:
        """Set the bytes that `send` sends."""
        self._out = memoryview(data)

    def send(self) -> None:
        """Send the bytes of `write`. After an error, the next call sends the same piece again, as TLS requires."""
        while self._out:
            self._out = self._out[self._sock.send(self._out[:_PIECE]) :]

    @property
    def unsent(self) -> int:
        """The number of bytes that `send` has not sent yet."""
        return len(self._out)

    def end_sending(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            if isinstance(self._sock, ssl.SSLSocket):
                self._sock.unwrap()
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._sock.close()


def least(connections: Iterable[ClientConnection]) -> ClientConnection | None:
    """The least important connection; None if all of them are being judged or answered.

    Least important are connections that are ending, then those that never sent a whole request, then idle ones, then
    those that are sending a request. Of equally important ones, it is the one that is in its state for longest.
    """
    endable = (each for each in connections if _rank(each) is not None)
    return min(endable, key=lambda each: (_rank(each) or 0, each.since), default=None)


def _rank(connection: ClientConnection) -> int | None:
    if connection.state is ConnectionState.ENDING:
        return 0
    if connection.state not in (ConnectionState.HANDSHAKE, ConnectionState.IDLE, ConnectionState.READING):
        return None
    if not connection.served:
        return 1
    return 2 if connection.state is ConnectionState.IDLE else 3


def slowest(connections: Iterable[ClientConnection], now: float) -> ClientConnection | None:
    """The connection that has been sending a large body for longest, if that is longer than an API server takes."""
    sending = [each for each in connections if each.state is ConnectionState.READING and each.reserved]
    found = min(sending, key=lambda each: each.since, default=None)
    return found if found and now - found.since > _QUICK else None
