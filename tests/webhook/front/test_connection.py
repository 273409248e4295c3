"""A connection as the loop sees it."""

from __future__ import annotations

import socket

from webhook.front.connection import ClientConnection


def test_the_end_of_a_long_response_does_not_wait_until_the_rest_is_acknowledged() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        connection = ClientConnection(accepted, "127.0.0.1", 0.0, 0.0)

        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        connection.close()
