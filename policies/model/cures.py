"""Faults in one text, what is wrong and then what to write, taken apart for a finding."""

from __future__ import annotations

from typing import Any

from policies.model import fields
from policies.model.defect import Defect

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


def patch(defect: Defect) -> tuple[dict[str, Any], ...]:
    """The fix as JSON Patch operations; empty where it is not certain, or where the field may be read in two ways."""
    steps = fields.steps(defect.field)
    if not steps:
        return ()
    if defect.rename:
        old, new = fields.pointer(*steps), fields.pointer(*steps[:-1], defect.rename)
        return ({"op": "move", "from": old, "path": new},)
    if defect.write is None:
        return ()
    return ({"op": "replace", "path": fields.pointer(*steps), "value": defect.write},)
