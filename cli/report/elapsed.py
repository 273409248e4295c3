"""The time since the start of a simulation, as a person writes it."""

from __future__ import annotations

from scheduling.objects.times import SECOND

_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def elapsed(start: int, time: int) -> str:
    """The time since `start`, such as +1h30m. Times are in nanoseconds."""
    rest, text = max(0, time - start) // SECOND, ""
    for seconds, unit in _UNITS:
        count, rest = divmod(rest, seconds)
        text += f"{count}{unit}" if count else ""
    return f"+{text or '0s'}"
