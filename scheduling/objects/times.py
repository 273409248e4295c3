"""Times as integer nanoseconds since 1970 in UTC.

They are exact, and cheap to compare and to add. 0 is an unknown time, like Kubernetes' zero time, and earlier than all
others.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

SECOND = 10**9
MILLISECOND = 10**6
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = 253_402_300_799
"""The end of the year 9999, in seconds."""
_MICROSECOND = timedelta(microseconds=1)
_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def parse(text: object) -> int:
    """The time in a manifest (RFC 3339); 0 if it is absent or invalid."""
    if not isinstance(text, str) or not text:
        return 0
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return 0
    return of(moment) if moment.tzinfo is not None else 0


def of(moment: datetime) -> int:
    """The time of an aware datetime; 0 before 1970."""
    return max(0, (moment - _EPOCH) // _MICROSECOND * 1000)


def rfc3339(moment: int) -> str:
    """The moment as Kubernetes writes it, in whole seconds and UTC; at most the end of the year 9999."""
    return _written(min(moment // SECOND, _LAST))


@lru_cache(maxsize=1024)
def _written(seconds: int) -> str:
    """The text of the time. It is cached, since the conditions of a status have few different times."""
    return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def exactly(moment: int) -> str:
    """The time with microseconds, which `parse` can read."""
    return f"{rfc3339(moment)[:-1]}.{moment % SECOND // 1000:06}Z"


def elapsed(start: int, time: int) -> str:
    """The time since `start` as a readable text, such as +1h30m."""
    return after(max(0, time - start) // SECOND)


def after(seconds: int) -> str:
    """The seconds as a readable text, such as +1h30m."""
    return f"+{''.join(in_units(seconds))}"


def in_units(seconds: int) -> list[str]:
    """The seconds as days, hours, minutes and seconds, largest unit first, such as 1h and 30m; 0s if it is 0."""
    rest, units = seconds, []
    for unit, letter in _UNITS:
        count, rest = divmod(rest, unit)
        units += [f"{count}{letter}"] if count else []
    return units or ["0s"]
