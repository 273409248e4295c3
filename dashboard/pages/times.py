"""Formats times for pages as the time that has passed, with the absolute time on hover."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from markupsafe import Markup

_DAY, _HOUR = 24 * 60, 60
Clock = Callable[[], datetime]


def now() -> datetime:
    return datetime.now(UTC)


def lasted(since: str, clock: Clock = now) -> str:
    """How long ago the RFC 3339 time was, in its two largest units; empty if it is not a time.

    It is in whole minutes, so that a page stays the same between two updates and is not sent again.
    """
    minutes = _minutes(since, clock)
    return "" if minutes is None else _span(minutes)


def relative(moment: str, clock: Clock = now) -> str | Markup:
    """A `<time>` element with the time that has passed, such as `5 min ago`; the text itself if it is not a time."""
    minutes = _minutes(moment, clock)
    if minutes is None:
        return moment
    return _time(moment, f"{_span(minutes)} ago" if minutes >= 0 else f"in {_span(-minutes)}")


def lasting(since: str | None, clock: Clock = now) -> str | Markup:
    """A `<time>` element with the duration since then, such as `5 min`; empty if it is not a time."""
    text = lasted(since or "", clock)
    return _time(since or "", text) if text else ""


def past(moment: str | None) -> bool:
    """Whether the RFC 3339 time was before now; False if it is not a time."""
    try:
        return datetime.fromisoformat(moment or "") <= now()
    except (TypeError, ValueError):
        return False


def _time(moment: str, text: str) -> Markup:
    return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(moment, text)


def _minutes(moment: str, clock: Clock) -> int | None:
    try:
        return int((clock() - datetime.fromisoformat(moment)).total_seconds() / 60)
    except (TypeError, ValueError):  # not a time, or a time without a zone
        return None


def _span(minutes: int) -> str:
    if minutes >= _DAY:
        return f"{minutes // _DAY} d {minutes % _DAY // _HOUR} h"
    if minutes >= _HOUR:
        return f"{minutes // _HOUR} h {minutes % _HOUR} min"
    return f"{minutes} min" if minutes > 0 else "less than a minute"
