"""Makes the fix of a finding: splits texts into fault and fix, and makes patches of fixes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from policies.model import fields
from policies.model.objects import Defect
from policies.model.suggestion import is_slip

Patch: TypeAlias = tuple[Mapping[str, Any], ...]
_WRITE = (", write ", ": write ")


def apart(text: str, otherwise: str) -> tuple[str, str]:
    """Split a text into fault and fix. The fix follows the last semicolon, or begins with `write`.

    `otherwise`: the fix for a text that has none.
    """
    message, separator, cure = text.rpartition("; ")
    if separator:
        return message, cure
    for word in _WRITE:
        message, separator, cure = text.rpartition(word)
        if separator:
            return message, f"write {cure}"
    return text, otherwise


def patch(defect: Defect) -> Patch:
    """The fix as JSON Patch operations; empty if it is not certain, or if the path of the field is ambiguous."""
    if defect.remove:
        return remove(defect.field)
    return rename(defect.field, defect.rename) or write(defect.field, defect.write)


def rename(field: str, name: str) -> Patch:
    """A patch that renames the field or key at this path; empty without a name."""
    steps = fields.steps(field) if name else None
    if not steps:
        return ()
    return ({"op": "move", "from": fields.pointer(*steps), "path": fields.pointer(*steps[:-1], name)},)


def write(field: str, value: str | int | None) -> Patch:
    """A patch that replaces the value at this path; empty for None."""
    steps = fields.steps(field) if value is not None else None
    return ({"op": "replace", "path": fields.pointer(*steps), "value": value},) if steps else ()


def remove(field: str) -> Patch:
    """A patch that removes the field or key at this path."""
    steps = fields.steps(field)
    return ({"op": "remove", "path": fields.pointer(*steps)},) if steps else ()


def write_only(field: str, wrong: str, near: Sequence[str]) -> Patch:
    """A patch that writes the only similar name; empty if there are several, or if the digits differ."""
    return write(field, near[0]) if len(near) == 1 and is_slip(wrong, near[0]) else ()
