"""Durations as Go writes them, such as 1h30m or -1ns."""

from __future__ import annotations

from policies.configuration.kueue.fault import Fault, invalid
from policies.dialects.go_values import read_duration
from policies.model.errors import BadConfiguration
from policies.schema.values import value_text


def nanoseconds(value: object) -> int | None:
    return read_duration(value) if isinstance(value, str) else None


def duration(value: object, at: str) -> int:
    """The duration in nanoseconds. Raises BadConfiguration if it is invalid or negative."""
    length = nanoseconds(value)
    if length is None or length < 0:
        fault = no_duration(value, at)
        raise BadConfiguration(fault.message, fault.field)
    return length


def no_duration(value: object, at: str) -> Fault:
    return invalid(
        at, f"{value_text(value)} is not a valid duration; write numbers with the units h, m or s, as in 1h30m or 300s"
    )
