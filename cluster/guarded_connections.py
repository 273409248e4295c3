"""Connections that end before a byte is sent where their peer has an address of the link itself.

A name may resolve to any address, and to another one each time, so the address is looked at once it is connected to.
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
    except OSError as error:  # it is gone already
        connected.close()
        raise NewConnectionError(connection, str(error)) from error
    if link_local(address):
        connected.close()
        raise NewConnectionError(connection, f"it leads to {address}, an address of the link itself")
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
