"""Connection pools that never send a byte to a link-local address.

A name may resolve to any address, and to a different one each time. Therefore the address of the peer is checked after
the connection is made.
"""

from __future__ import annotations

import socket

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import NewConnectionError

from policies.dialects.addresses import link_local


def _checked(connection: HTTPConnection, connected: socket.socket) -> socket.socket:
    try:
        address = str(connected.getpeername()[0])
    except OSError as error:  # the connection is closed already
        connected.close()
        raise NewConnectionError(connection, str(error)) from error
    if link_local(address):
        connected.close()
        raise NewConnectionError(connection, f"it leads to {address}, a link-local address")
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
