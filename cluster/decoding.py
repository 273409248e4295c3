"""Decodes JSON from API servers, even if an object is nested very deeply."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

DEEPEST = 200
"""The levels that are kept. Objects that decisions read have far fewer levels; Python's stack allows far more."""
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def decoded(body: bytes) -> Any:
    """The value of a JSON text. Lists and objects below level DEEPEST become null, so that one of them hides no others.

    Raises ValueError if it is not JSON.
    """
    try:
        return json.loads(body)
    except RecursionError:
        return json.loads(shallow(body))


def deeper(value: object, levels: int) -> bool:
    """Whether lists and objects are nested deeper than `levels`. A value that `decoded` cut has more than 190."""
    found = [value]
    for _ in range(levels):
        found = [child for each in found for child in _children(each)]
        if not found:
            return False
    return any(isinstance(each, dict | list) for each in found)


def _children(value: object) -> Iterable[object]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def shallow(body: bytes, deepest: int = DEEPEST) -> bytes:
    """The same JSON with null for each list and object below level `deepest`."""
    kept, depth, start = bytearray(), 0, 0
    for token in _TOKEN.finditer(body):
        text = token.group()
        if text in b"[{":
            depth += 1
            if depth == deepest + 1:
                kept += body[start : token.start()] + b"null"
        elif text in b"]}":
            depth -= 1
            if depth == deepest:
                start = token.end()
    return bytes(kept + body[start:]) if depth <= deepest else bytes(kept)
