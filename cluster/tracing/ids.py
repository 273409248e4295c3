"""The one place that derives ids of traces. They follow from UIDs, so nothing has to be stored or passed on."""

from __future__ import annotations

import hashlib
import re

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NONE = "0" * 32
"""W3C Trace Context has no such trace."""


def trace_id(uid: str) -> str:
    """The trace of an AdmissionReview or an object: its UID without hyphens, 32 hexadecimal digits.

    An invalid UID, which no API server gives out, has the digits of its hash. Empty for an empty one.
    """
    if _UID.fullmatch(uid) and (digits := uid.replace("-", "")) != _NONE:
        return digits
    return _digits(uid, 32) if uid else ""


def span_id(trace: str, *which: object) -> str:
    """16 hexadecimal digits for a span that several processes name alike, before it is over."""
    return _digits("/".join((trace, *map(str, which))), 16)


def _digits(text: str, length: int) -> str:
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:length]
