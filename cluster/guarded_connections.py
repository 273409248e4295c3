"""Connection pools that close a connection to a metadata service or a link-local address before they send a request.

A name may resolve to another address each time. So the address of the peer is checked after the TCP connection is made,
and before TLS. A connection through a proxy is not checked, since the proxy resolves the name.
"""

from __future__ import annotations

import socket

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import NewConnectionError

from policies.dialects.addresses import may_be_metadata

_KIND = "a link-local address or one of a cloud's metadata service"


def _checked(connection: HTTPConnection, connected: socket.socket) -> socket.socket:
    try:
        address = str(connected.getpeername()[0])
    except OSError as error:  # the connection is closed already
        connected.close()
        raise NewConnectionError(connection, str(error)) from error
    if may_be_metadata(address):
        connected.close()
        raise NewConnectionError(connection, f"{connection.host} resolves to {address}, {_KIND}")
    return connected


class _Plain(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        return _checked(self, super()._new_conn())


class _Secure(HTTPSConnection):
    def _new_conn(self) -> socket.socket:
        return _checked(self, super()._new_conn())


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _Plain


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _Secure


POOLS = {"http": _PlainPool, "https": _SecurePool}
"""Connection pools by scheme, for a PoolManager."""
