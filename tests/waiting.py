"""Waiting for what another thread or process brings about."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

SECONDS = 60.0
_SHORTEST, _LONGEST = 0.02, 0.1
"""Seconds between two looks: a twentieth of the time waited so far. Each look takes processor time from what it waits
for."""


def eventually(
    holds: Callable[[], Any],
    otherwise: Callable[[], str] = lambda: "it did not come about",
    seconds: float = SECONDS,
) -> Any:
    """What `holds` returns as soon as that is true. Raises AssertionError after so many seconds."""
    began = time.monotonic()
    while not (found := holds()):
        waited = time.monotonic() - began
        if waited > seconds:
            raise AssertionError(otherwise())
        time.sleep(min(_LONGEST, max(_SHORTEST, waited / 20)))
    return found
