"""A server that presents a certificate to who connects, on loopback."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from certs.pki import new_authority, new_server
from certs.presented import TlsServer


@contextmanager
def presenting(folder: Path, made: timedelta, lifetime: timedelta) -> Iterator[TlsServer]:
    """Its certificate was made this long ago, for so long."""
    now = datetime.now(UTC)
    pair = new_server(new_authority("test", now - made, 9 * lifetime), ["localhost"], now - made, lifetime)
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_accept, args=(listening, context))
        thread.start()
        try:
            yield TlsServer("127.0.0.1", listening.getsockname()[1], "localhost")
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def _accept(listening: socket.socket, context: ssl.SSLContext) -> None:
    with suppress(OSError):  # it is closed
        while True:
            connection, _ = listening.accept()
            with connection, suppress(OSError), context.wrap_socket(connection, server_side=True) as secured:
                secured.recv(1)
