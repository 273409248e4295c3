"""JSON as API servers send it, however deep an object is nested."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

DEEPEST = 200
"""Levels that are kept: far more than any object that means something to a decision, far fewer than Python's stack."""
_MARK = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def decoded(body: bytes) -> Any:
    """What is nested too deep to be read is null, so that one odd object keeps nobody from reading the others.

    Raises ValueError for what is no JSON.
    """
    try:
        return json.loads(body)
    except RecursionError:
        return json.loads(shallow(body))


def deeper(thing: object, levels: int) -> bool:
    """Whether lists and objects are nested deeper than that. What `decoded` cut off leaves more than 190 levels."""
    found = [thing]
    for _ in range(levels):
        found = [child for each in found for child in _children(each)]
        if not found:
            return False
    return any(isinstance(each, dict | list) for each in found)


def _children(thing: object) -> Iterable[object]:
    return thing.values() if isinstance(thing, dict) else thing if isinstance(thing, list) else ()


def shallow(body: bytes, deepest: int = DEEPEST) -> bytes:
    """The same text with null for each list and object below so many others."""
    kept, depth, start = bytearray(), 0, 0
    for mark in _MARK.finditer(body):
        sign = mark.group()
        if sign in b"[{":
            depth += 1
            if depth == deepest + 1:
                kept += body[start : mark.start()] + b"null"
        elif sign in b"]}":
            depth -= 1
            if depth == deepest:
                start = mark.end()
    return bytes(kept + body[start:]) if depth <= deepest else bytes(kept)
