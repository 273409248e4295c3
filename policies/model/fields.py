"""Field paths as Kubernetes prints them, and JSON pointers for patches."""

from __future__ import annotations

import re
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""The keys and indexes that lead from the top of a manifest to a value."""

_PLAIN = re.compile(r"[A-Za-z0-9_-]+").fullmatch
_STEP = re.compile(r"\[([^\]]+)\]|([A-Za-z0-9_-]+)")


def join(base: str, *steps: str | int) -> str:
    """`join("spec", "capability", "nvidia.com/gpu")` is `spec.capability[nvidia.com/gpu]`; a number is an index."""
    path = base
    for step in steps:
        if isinstance(step, int) or not _PLAIN(step):
            path += f"[{step}]"
        else:
            path += f".{step}" if path else step
    return path


def enclosing(field: str) -> tuple[str, ...]:
    """The field itself and each field around it, such as `spec.deserved[a/b]`, `spec.deserved`, `spec`."""
    return tuple(field[: step.end()] for step in _STEP.finditer(field))[::-1]


def pointer(*steps: str | int) -> str:
    """The JSON pointer (RFC 6901) of these keys."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def unpointed(pointer: str) -> tuple[str, ...]:
    """The keys of a JSON pointer. An index is a text of digits."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def steps(field: str) -> Path | None:
    """The keys and indexes of a field path that `join` made; None if the path is ambiguous."""
    found = tuple(int(inner) if inner.isdigit() else inner or plain for inner, plain in _STEP.findall(field))
    return found if join("", *found) == field else None
