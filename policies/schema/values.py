"""Values of a manifest in messages, and what is said of one whose type is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from decimal import Decimal
from typing import Any

SHOWN = 60
"""The most characters of a wrong value that a message shows."""

_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)
_BOOLEANS = {"true": True, "false": False}
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})").fullmatch
_TYPES = {
    "string": "a string",
    "integer": "a whole number",
    "boolean": "true or false",
    "object": "a mapping",
    "array": "a list",
    "null": "null",
    "quantity": "a quantity",
}


def value_text(value: Any) -> str:
    """The value as JSON, shortened."""
    if isinstance(value, Decimal):
        return str(value)
    text = ""
    for part in _ENCODER.iterencode(value):
        text += part
        if len(text) > SHOWN:
            text = text[: SHOWN - 4] + " ..."
            break
    return text if is_unicode(text) else ascii(text)


def is_unicode(text: str) -> bool:
    return text.isprintable() or not any("\ud800" <= character <= "\udfff" for character in text)


def wrong_type(value: Any, wanted: Collection[str]) -> str:
    """What is said of a value that has none of these types. `wanted`: types of JSON Schema, or `quantity`."""
    cure = f"it must be {' or '.join(_TYPES[name] for name in wanted)}"
    if of_type(value, wanted) is not None:
        cure += ": leave out the quotes" if isinstance(value, str) else ": put it in quotes"
    return f"{value_text(value)} is {_type(value)}; {cure}"


def of_type(value: Any, wanted: Collection[str]) -> str | int | None:
    """The value that is certainly meant, if it only has too many or too few quotes."""
    if "string" in wanted and isinstance(value, int):
        return value_text(value)
    if not isinstance(value, str):
        return None
    if "boolean" in wanted and value in _BOOLEANS:
        return _BOOLEANS[value]
    return int(value) if "integer" in wanted and _INTEGER(value) else None


def _type(value: Any) -> str:
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, float | Decimal):
        return "a decimal number"
    kind = {str: "string", int: "integer", dict: "object", list: "array"}.get(type(value))
    return _TYPES[kind] if kind else f"a {type(value).__name__}"
