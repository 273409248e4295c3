"""Links that contain a change, for colleagues. A link only has the edits, never rights or pasted text."""

from __future__ import annotations

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256
from secrets import token_bytes

from cryptography.fernet import Fernet, InvalidToken

from dashboard.what_if.edits import MOST

LASTS = 7 * 24 * 3600
"""Seconds for which a link can be opened."""
LONGEST = 6000
"""The maximum number of characters in a link; chats and proxies cut longer ones."""


class BadLink(ValueError):
    """The link was changed, has expired, or was made with another key."""


class ChangeLinks:
    """Creates and opens links. They are signed and encrypted.

    Therefore nobody can forge a link, and the logs of proxies do not show names of queues.
    `key`: returns the key. Replicas with the same key accept each other's links. Without it, a random key is used, and
    links end with the process.
    """

    def __init__(self, key: Callable[[], bytes] | None = None, clock: Callable[[], float] = time.time) -> None:
        made_up = token_bytes(32)
        self._key = key or (lambda: made_up)
        self._clock = clock

    def seal(self, lines: Sequence[str]) -> str:
        """The edits as a part of a URL; empty if they are too long. Raises OSError if the key cannot be read."""
        content = json.dumps([*lines], separators=(",", ":")).encode()
        sealed = self._fernet().encrypt_at_time(content, int(self._clock())).decode("ascii")
        return sealed if len(sealed) <= LONGEST else ""

    def open(self, sealed: str) -> list[str]:
        """The edits of a link. Raises BadLink."""
        try:
            content = self._fernet().decrypt_at_time(sealed.encode("ascii", "replace"), LASTS, int(self._clock()))
        except (InvalidToken, OSError) as error:
            raise BadLink(
                f"This link was changed, is older than {LASTS // 86400} days or is of another dashboard. Ask for a new"
                " one."
            ) from error
        return [str(line) for line in json.loads(content)][:MOST]

    def _fernet(self) -> Fernet:
        return Fernet(urlsafe_b64encode(sha256(b"quotree what-if link " + self._key()).digest()))
