"""Encrypts tokens for cookies, so that the browser never stores a token and nobody can forge a session."""

from __future__ import annotations

import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from secrets import token_bytes, token_urlsafe

from cryptography.fernet import Fernet, InvalidToken

from dashboard.login.ended import EndedSessions

LASTS = 8 * 3600
"""The lifetime of a session in seconds. Its token may expire earlier."""
_LONGEST = 3800
"""The maximum length of a cookie's value in bytes that every browser accepts."""
_KEPT = 100_000
"""The maximum number of ended sessions in memory, about 20 MB. Beyond that, the oldest are dropped."""


def cookie_name(port: int, *, secure: bool) -> str:
    """The name of the session cookie.

    All ports of a host share cookies, so the name has the port. The prefix `__Host-` keeps other hosts of the domain
    from setting the cookie.
    """
    return "__Host-quotree" if secure else f"quotree-{port}"


class TokenTooLong(ValueError):
    """The token does not fit in a cookie."""


class Sessions:
    """Creates, opens and ends sessions. It is thread-safe.

    `key`: returns the key of the encryption; it is called each time, since a file may change. Replicas with the same
    key accept each other's sessions. Without `key`, a random key is used, and sessions end with the process.
    `shared`: the list of ended sessions that replicas share.
    """

    def __init__(self, key: Callable[[], bytes] | None = None, shared: EndedSessions | None = None) -> None:
        made_up = token_bytes(32)
        self._key = key or (lambda: made_up)
        self._shared = shared
        self._ended: dict[str, float] = {}
        self._lock = threading.Lock()

    def seal(self, token: str) -> str:
        """Encrypt a token for the cookie. Raises TokenTooLong, or OSError if the key cannot be read."""
        sealed = self._fernet().encrypt(f"{token_urlsafe(16)}.{token}".encode()).decode("ascii")
        if len(sealed) > _LONGEST:
            raise TokenTooLong("the token is too long for a cookie; have a proxy send it as a header")
        return sealed

    def open(self, sealed: str) -> str | None:
        """The token in a cookie; None if the cookie is not valid or has expired, or if its session may have ended."""
        session, token = self._opened(sealed)
        shared = self._shared
        over = session in self._ended or (shared is not None and (bool(shared.unready()) or shared.has(session)))
        return None if over else token

    def start(self) -> None:
        """Begin to watch the shared list. Call it in the process that serves."""
        if self._shared is not None:
            self._shared.start()

    def unready(self) -> list[str]:
        """A sentence with the reason why no session can be opened yet; empty if sessions can be opened."""
        return [why] if self._shared is not None and (why := self._shared.unready()) else []

    def end(self, sealed: str) -> None:
        """End the session in all replicas that share the list, so that copies of the cookie are no longer accepted.

        Raises ClusterError or TooManyEnded if it has only ended in this process.
        """
        session, token = self._opened(sealed)
        if token is None:
            return
        now = time.monotonic()
        with self._lock:
            self._ended.setdefault(session, now + LASTS)
            for oldest, until in [*self._ended.items()]:
                if until > now and len(self._ended) <= _KEPT:
                    break
                del self._ended[oldest]
        if self._shared is not None:
            self._shared.add(session, time.time() + LASTS)

    def _opened(self, sealed: str) -> tuple[str, str | None]:
        try:
            content = self._fernet().decrypt(sealed.encode("ascii", "replace"), ttl=LASTS).decode()
        except (InvalidToken, ValueError, OSError):
            return "", None
        session, _, token = content.partition(".")
        return session, token

    def _fernet(self) -> Fernet:
        return Fernet(urlsafe_b64encode(sha256(b"quotree session " + self._key()).digest()))
