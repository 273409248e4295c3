"""Reads the certificates that servers present to their clients, without reading Secrets."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from certs.pki import CertificateFacts, inspect
from certs.presented import TlsServer, at_url, presented

LASTS = 300.0
"""Seconds for which a certificate is cached, since certificates are valid for days."""
_SECONDS = 3.0
"""The maximum duration of a handshake in seconds."""
_PATIENCE = 0.5
"""Seconds that a page waits for servers whose certificate is not cached."""
_MOST, _KEPT = 16, 64
"""The maximum numbers of servers that one page reads, and that are cached."""

Presented: TypeAlias = CertificateFacts | str
"""A certificate, or the reason why it is unknown."""
UNASKED = "it has not answered yet"


class NamedServer(NamedTuple):
    subject: str
    server: TlsServer


def named_servers(urls: Iterable[tuple[str, str, str | None]]) -> Sequence[NamedServer]:
    """The TLS servers of these URLs. Each entry: a subject, a URL, and the name in its certificate if it differs.

    URLs that are not https are left out.
    """
    found = ((subject, at_url(url, name)) for subject, url, name in urls)
    return [NamedServer(subject, server) for subject, server in found if server is not None]


def of_server(server: TlsServer) -> Presented:
    try:
        return inspect(presented(server, _SECONDS))
    except (OSError, ValueError) as error:  # ValueError: an invalid name or an unreadable certificate
        return f"{server}: {error}"


class ServedCertificates:
    """Reads each server in its own thread, so that a server that hangs does not block pages. It is thread-safe."""

    def __init__(
        self, ask: Callable[[TlsServer], Presented] = of_server, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._ask, self._clock = ask, clock
        self._found: dict[TlsServer, tuple[float, Presented]] = {}
        self._asking: dict[TlsServer, threading.Thread] = {}
        self._lock = threading.Lock()

    def of(self, servers: Iterable[TlsServer]) -> dict[TlsServer, Presented]:
        """The certificate of each server. An expired cache entry is used until there is a newer one."""
        every = list(dict.fromkeys(servers))
        wanted = every[:_MOST]
        with self._lock:
            if len(self._found) > _KEPT:
                self._found.clear()
            asked = [self._start(each) for each in wanted if self._is_due(each)]
            new = [thread for server, thread in asked if server not in self._found]
        end = time.monotonic() + _PATIENCE
        for thread in new:
            thread.join(max(0.0, end - time.monotonic()))
        with self._lock:
            return {each: self._found[each][1] if each in self._found else UNASKED for each in every}

    def _is_due(self, server: TlsServer) -> bool:
        return server not in self._found or self._clock() - self._found[server][0] >= LASTS

    def _start(self, server: TlsServer) -> tuple[TlsServer, threading.Thread]:
        thread = self._asking.get(server)
        if thread is None:
            thread = threading.Thread(target=self._answered, args=(server,), name="certificates", daemon=True)
            self._asking[server] = thread
            thread.start()
        return server, thread

    def _answered(self, server: TlsServer) -> None:
        found = self._ask(server)
        with self._lock:
            self._found[server] = self._clock(), found
            del self._asking[server]
