"""Faults that are told in one text, what is wrong and then what to write, taken apart for a finding."""

from __future__ import annotations

_WRITE = (", write ", ": write ")


def apart(text: str, otherwise: str) -> tuple[str, str]:
    """What is wrong, and the cure: what comes after the last semicolon, else from `write` on, else `otherwise`."""
    message, mark, cure = text.rpartition("; ")
    if mark:
        return message, cure
    for write in _WRITE:
        message, mark, cure = text.rpartition(write)
        if mark:
            return message, f"write {cure}"
    return text, otherwise
