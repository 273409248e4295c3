"""One connection: its socket, what it is doing, and until when."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
from enum import Enum, auto
from typing import Any

from webhook.front.reading import RequestReader

_PIECE = 64 * 1024
"""Bytes of one read or write; a TLS record has 16 KiB."""


class ConnectionState(Enum):
    """What a connection is doing."""

    HANDSHAKE = auto()
    IDLE = auto()
    """Nothing of a request has come."""
    READING = auto()
    WORKING = auto()
    """A thread has its request, and the connection. The loop leaves it alone."""
    WRITING = auto()
    ENDING = auto()
    """Everything is sent. What still arrives is dropped, since closing at once could destroy the response."""


class ClientConnection:
    """Non-blocking. Its methods raise Blocked where they must wait, OSError where the connection is gone."""

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
        with contextlib.suppress(OSError):  # it is gone already
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # the end of a response waits for nothing
        self._sock = sock
        self._out = memoryview(b"")
        self.peer = peer
        self.state = ConnectionState.HANDSHAKE
        self.since = now
        """When it began what it is doing."""
        self.deadline = deadline
        self.served = False
        """Whether it ever had a whole request."""
        self.close_after = False
        """Whether it ends with the present response."""
        self.failed = False
        """Whether a response could not be sent."""
        self.reserved = 0
        """Bytes that are held for its request and response."""
        self.watched = 0
        """The events that the loop waits for."""
        self.reader: RequestReader

    def fileno(self) -> int:
        return self._sock.fileno()

    def secure(self, context: ssl.SSLContext) -> None:
        """Begin TLS. Not before something has come, since TLS takes memory."""
        if not isinstance(self._sock, ssl.SSLSocket):
            self._sock = context.wrap_socket(self._sock, server_side=True, do_handshake_on_connect=False)

    def shake_hands(self) -> None:
        assert isinstance(self._sock, ssl.SSLSocket)
        self._sock.do_handshake()

    @property
    def certificate(self) -> dict[str, Any] | None:
        """The client's certificate; None without one."""
        assert isinstance(self._sock, ssl.SSLSocket)
        return self._sock.getpeercert()

    def gone(self) -> bool:
        """Whether the client has ended the connection; safe in any thread. False where the system cannot tell."""
        poll = select.poll()
        with contextlib.suppress(OSError, ValueError, AttributeError):
            poll.register(self._sock, select.POLLRDHUP)
            return bool(poll.poll(0))
        return False

    def receive(self) -> bytes:
        """What has come; empty at the end."""
        return self._sock.recv(_PIECE)

    def write(self, data: bytes) -> None:
        """Send this from now on; `send` does it."""
        self._out = memoryview(data)

    def send(self) -> None:
        """Send what is to be written. A piece that is refused is tried again as it was, as TLS demands."""
        while self._out:
            self._out = self._out[self._sock.send(self._out[:_PIECE]) :]

    @property
    def unsent(self) -> int:
        """Bytes."""
        return len(self._out)

    def end_sending(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            if isinstance(self._sock, ssl.SSLSocket):
                self._sock.unwrap()
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._sock.close()
