"""Makes names of queues that are valid for Kueue's objects and for labels of jobs."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

from policies.dialects.labels import is_domain

_LONGEST = 63
"""The most characters. Jobs name their LocalQueue in a label, which has this limit."""
_DIGITS = 8
"""The hexadecimal digits of the hash that is added to names that would otherwise be equal."""


def kueue_names(names: Iterable[str]) -> dict[str, str]:
    """The name in Kueue for each name; the same if possible. It depends on other names only if two would be equal."""
    every = set(names)
    kept = {name for name in every if is_domain(name) and len(name) <= _LONGEST}
    plain = {name: _plain(name) for name in every - kept}
    common = Counter(plain.values())
    found = {name: name for name in kept}
    taken = set(kept)
    for name in sorted(plain):
        short = plain[name]
        unique = short and len(short) <= _LONGEST and common[short] == 1 and short not in kept
        found[name] = short if unique else _marked(name, short, taken)
        taken.add(found[name])
    return found


def _plain(name: str) -> str:
    """The name in lower case, with `-` for characters that are not allowed, and without empty parts."""
    parts = (part.strip("-") for part in re.sub(r"[^a-z0-9.-]+", "-", name.lower()).split("."))
    return ".".join(filter(None, parts))


def _marked(name: str, short: str, taken: set[str]) -> str:
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()
    for digits in range(_DIGITS, len(digest)):
        stem = short[: _LONGEST - digits - 1].rstrip("-.") or "queue"
        marked = f"{stem}-{digest[:digits]}"[:_LONGEST]
        if marked not in taken:
            break
    return marked
