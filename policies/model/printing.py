"""How a text that others wrote may be shown: in a refusal, a warning, a report, a log, an Event."""

from __future__ import annotations


def plain(text: str) -> str:
    """The text on one line, with an escape such as `\\x1b` or `\\u202e` for each character that does not print.

    A name in a manifest must not move the cursor, end the line, or turn the direction of what follows: that is how a
    refusal is made to look like something else. `str.isprintable` knows them all: C0 and C1, line and paragraph
    separators, halves of surrogate pairs, and formats such as U+202E and U+2066.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
