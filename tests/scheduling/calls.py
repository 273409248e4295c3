"""What an action costs, whatever the machine does meanwhile: the functions that it calls."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType


def calls(*actions: Callable[[], object], package: str = "scheduling", of: Callable[..., object] | None = None) -> int:
    """How many functions of `scheduling`, or of another package, they call; with `of`, how often this one."""
    count = 0

    def note(frame: FrameType, what: str, _argument: object) -> None:
        nonlocal count
        if of is not None:
            count += what == "call" and frame.f_code is of.__code__
        else:
            count += what == "call" and str(frame.f_globals.get("__name__")).startswith(f"{package}.")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        for action in actions:
            action()
    finally:
        sys.setprofile(before)
    return count
