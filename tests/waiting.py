"""Waiting for what another thread or process brings about."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

SECONDS = 60.0


def eventually(
    holds: Callable[[], Any],
    otherwise: Callable[[], str] = lambda: "it did not come about",
    seconds: float = SECONDS,
) -> Any:
    """What `holds` returns as soon as that is true. Raises AssertionError after so many seconds."""
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > deadline:
            raise AssertionError(otherwise())
        time.sleep(0.02)
    return found
