"""JSON merge patch (RFC 7386), as an API server applies it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def merged(target: Any, patch: Any) -> Any:
    """The target after the patch; None of a field takes it away."""
    if not isinstance(patch, Mapping):
        return patch
    made = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = merged(made.get(key), value)
    return made
