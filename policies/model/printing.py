"""Makes texts of users safe to show in a refusal, a warning, a report, a log or an Event, and long lists short."""

from __future__ import annotations

from collections.abc import Sequence


def plain(text: str) -> str:
    """The text on one line, with an escape such as `\\x1b` or `\\u202e` for each character that is not printable.

    A name in a manifest must not move the cursor, end the line, or change the direction of the text after it, since
    this could make a refusal look like another message. `str.isprintable` is false for all such characters: C0 and C1,
    line and paragraph separators, halves of surrogate pairs, and formats such as U+202E and U+2066.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def listed(first: Sequence[object], count: int) -> str:
    """The first objects with commas between them, and how many more there are of `count`."""
    more = f" and {count - len(first)} more" if count > len(first) else ""
    return f"{', '.join(map(str, first))}{more}"
