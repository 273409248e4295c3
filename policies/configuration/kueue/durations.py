"""Durations as Go writes them, such as 1h30m or -1ns."""

from __future__ import annotations

import re

from policies.configuration.kueue.fault import Fault, invalid
from policies.model.errors import BadConfiguration
from policies.model.quantity import INT64_MAX
from policies.schema.values import value_text

_UNITS = {"h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 1000, "µs": 1000, "ns": 1}
_PART = re.compile(r"([0-9]+)(?:\.([0-9]{1,9}))?(h|ms|m|s|us|µs|ns)")
_DURATION = re.compile(rf"([-+]?)((?:{_PART.pattern})+)").fullmatch
_LONGEST = 100
"""The most characters of a duration that are read."""


def nanoseconds(value: object) -> int | None:
    if value == "0":
        return 0
    found = _DURATION(value) if isinstance(value, str) and len(value) <= _LONGEST else None
    if found is None:
        return None
    length = sum(_length(*part.groups(default="")) for part in _PART.finditer(found[2]))
    if length > INT64_MAX:
        return None
    return -length if found[1] == "-" else length


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


def _length(whole: str, fraction: str, unit: str) -> int:
    length: int = _UNITS[unit]
    return int(whole) * length + int(fraction or 0) * length // int("1" + "0" * len(fraction))
