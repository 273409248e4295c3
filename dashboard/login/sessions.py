"""Tokens in cookies, sealed: a stolen backup of a browser's profile does not sign in, and no token can be made up."""

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
"""Seconds; a token may expire before."""
_LONGEST = 3800
"""Bytes of a cookie's value that every browser keeps."""
_KEPT = 100_000
"""Sessions that have ended and are remembered; about 20 MB. Beyond that the oldest are forgotten."""


def cookie_name(port: int, *, secure: bool) -> str:
    """Cookies are shared by all ports of a host; the prefix keeps other hosts of a domain from setting one."""
    return "__Host-quotree" if secure else f"quotree-{port}"


class TokenTooLong(ValueError):
    """The token does not fit in a cookie."""


class Sessions:
    """Replicas with the same key know each other's sessions; with the same list, also which of them have ended.

    `key` is read each time, since a file of it may change. Without one it is made up, and sessions end with the
    process. May be used by many threads.
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
        """The token; None where the text was not sealed here, or too long ago, or its session has ended, or it is not
        known yet which have."""
        session, token = self._opened(sealed)
        shared = self._shared
        over = session in self._ended or (shared is not None and (bool(shared.unready()) or shared.has(session)))
        return None if over else token

    def start(self) -> None:
        """Begin to follow the shared list. Called in the process that serves."""
        if self._shared is not None:
            self._shared.start()

    def unready(self) -> list[str]:
        """Why no session can be opened yet, in words."""
        return [why] if self._shared is not None and (why := self._shared.unready()) else []

    def end(self, sealed: str) -> None:
        """End the session, so that no copy of the cookie opens anything: here, and wherever the list is shared.

        Raises ClusterError or TooManyEnded if it has ended in this process only.
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
        """The id of the session, and its token."""
        try:
            content = self._fernet().decrypt(sealed.encode("ascii", "replace"), ttl=LASTS).decode()
        except (InvalidToken, ValueError, OSError):
            return "", None
        session, _, token = content.partition(".")
        return session, token

    def _fernet(self) -> Fernet:
        return Fernet(urlsafe_b64encode(sha256(b"quotree session " + self._key()).digest()))
