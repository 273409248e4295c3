"""Chooses the connection to end if there is no room for another one, or for its body."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.front.connection import ClientConnection, ConnectionState

_QUICK = 1.0
"""Seconds. An API server sends any body faster. A slower client is disconnected if another one needs the room."""


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
