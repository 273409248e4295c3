"""Tokens in cookies, sealed: a stolen backup of a browser's profile does not sign in, and no token can be made up."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from secrets import token_bytes

from cryptography.fernet import Fernet, InvalidToken

LASTS = 8 * 3600
"""Seconds; a token may expire before."""
_LONGEST = 3800
"""Bytes of a cookie's value that every browser keeps."""


def cookie_name(port: int, *, secure: bool) -> str:
    """Cookies are shared by all ports of a host; the prefix keeps other hosts of a domain from setting one."""
    return "__Host-quotree" if secure else f"quotree-{port}"


class TokenTooLong(ValueError):
    """The token does not fit in a cookie."""


class Sessions:
    """Replicas with the same key know each other's sessions. `key` is read each time, since a file of it may change.

    Without one it is made up, and sessions end with the process.
    """

    def __init__(self, key: Callable[[], bytes] | None = None) -> None:
        made_up = token_bytes(32)
        self._key = key or (lambda: made_up)

    def seal(self, token: str) -> str:
        """Encrypt a token for the cookie. Raises TokenTooLong, or OSError if the key cannot be read."""
        sealed = self._fernet().encrypt(token.encode()).decode("ascii")
        if len(sealed) > _LONGEST:
            raise TokenTooLong("the token is too long for a cookie; have a proxy send it as a header")
        return sealed

    def open(self, sealed: str) -> str | None:
        """The token; None where the text was not sealed here, or too long ago."""
        try:
            return self._fernet().decrypt(sealed.encode("ascii", "replace"), ttl=LASTS).decode()
        except (InvalidToken, ValueError, OSError):
            return None

    def _fernet(self) -> Fernet:
        return Fernet(urlsafe_b64encode(sha256(b"quotree session " + self._key()).digest()))
