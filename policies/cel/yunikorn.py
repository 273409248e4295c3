"""CEL expressions for the annotations of a Namespace."""

from __future__ import annotations

from policies.cel.expression import Variables, joined
from policies.dialects.core import YUNIKORN

NOTES: Variables = (("notes", "object.metadata.?annotations.orValue({})"),)


def note(key: str) -> str:
    return f"variables.notes[?'{YUNIKORN}namespace.{key}'].orValue('')"


def each_legacy(condition: str, text: str) -> str:
    """A CEL expression that joins `text` for each present legacy annotation if the condition is true."""
    return joined(*(_legacy(key, condition, text) for key in ("max.cpu", "max.memory")))


def _legacy(key: str, condition: str, text: str) -> str:
    return f"{note(key)} != '' && {condition} ? 'namespace.{key}=' + {note(key)} + '{text}' : ''"
