"""Waiting for what another thread or process brings about."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

SECONDS = 60.0
BETWEEN_LOOKS = 0.05
"""Seconds between two looks at what must not change."""
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


def throughout(seconds: float) -> Iterator[None]:
    """For the looks of a test that something does not happen: one now, and more until the seconds are over."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        yield
        time.sleep(BETWEEN_LOOKS)
