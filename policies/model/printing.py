"""Makes texts of users safe to show in a refusal, a warning, a report, a log or an Event, and long lists short."""

from __future__ import annotations

import re
from collections.abc import Sequence

_COMMAND = re.compile(r"^\s*:(?=:[a-z])|##\[", re.IGNORECASE)
"""Matches the beginning of a command of GitHub's runner: `::name::` begins a line, `##[name]` may be anywhere in it."""


def plain(text: str) -> str:
    """The text on one line, with an escape such as `\\x1b` or `\\u202e` for each character that is not printable.

    A name in a manifest must not move the cursor, end the line, or change the direction of the text after it, since
    this could make a refusal look like another message. `str.isprintable` is false for all such characters: C0 and C1,
    line and paragraph separators, halves of surrogate pairs, and formats such as U+202E and U+2066.
    It must not be a command of GitHub's runner either: `::stop-commands::x` would hide all later annotations.
    """
    if not text.isprintable():
        text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
    return _COMMAND.sub(_escaped, text) if "::" in text or "##[" in text else text


def _escaped(found: re.Match[str]) -> str:
    return f"{found[0][:-1]}\\x{ord(found[0][-1]):02x}"


def listed(first: Sequence[object], count: int) -> str:
    """The first objects with commas between them, and how many more there are of `count`."""
    more = f" and {count - len(first)} more" if count > len(first) else ""
    return f"{', '.join(map(str, first))}{more}"
