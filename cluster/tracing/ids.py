"""Derives trace ids and span ids. They are computed from UIDs, so that no id has to be stored or passed on."""

from __future__ import annotations

import hashlib
import re

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NONE = "0" * 32
"""An id that W3C Trace Context does not allow."""


def trace_id(uid: str) -> str:
    """The trace of an AdmissionReview or an object: its UID without hyphens, 32 hexadecimal digits.

    An invalid UID, which an API server never creates, is hashed. The trace id of an empty UID is empty.
    """
    if _UID.fullmatch(uid) and (digits := uid.replace("-", "")) != _NONE:
        return digits
    return _digits(uid, 32) if uid else ""


def span_id(trace: str, *which: object) -> str:
    """The id of a span, 16 hexadecimal digits. Every process derives the same id, even before the span has ended."""
    return _digits("/".join((trace, *map(str, which))), 16)


def _digits(text: str, length: int) -> str:
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:length]
