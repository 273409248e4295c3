"""Field paths as Kubernetes prints them, and JSON pointers for patches."""

from __future__ import annotations

import re
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""The keys and indices from the top of a manifest to a value."""

_PLAIN = re.compile(r"[A-Za-z0-9_-]+").fullmatch


def join(base: str, *steps: str | int) -> str:
    """`join("spec", "capability", "nvidia.com/gpu")` is `spec.capability[nvidia.com/gpu]`; a number is an index."""
    path = base
    for step in steps:
        if isinstance(step, int) or not _PLAIN(step):
            path += f"[{step}]"
        else:
            path += f".{step}" if path else step
    return path


def pointer(*steps: str | int) -> str:
    """The JSON pointer (RFC 6901) of these keys."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)
