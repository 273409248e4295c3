"""Checks of names and values that several sections of the Configuration use."""

from __future__ import annotations

import re
from collections.abc import Iterator

from policies.configuration.kueue.durations import nanoseconds, no_duration
from policies.configuration.kueue.fault import Fault, forbidden, invalid, required
from policies.dialects.labels import selector_faults
from policies.dialects.reading import integer, listing, mapping

_SERVICE = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?").fullmatch
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?").fullmatch
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch
_LONGEST = 63


def is_service_name(name: str) -> bool:
    """Whether the name is a DNS label that begins with a letter (RFC 1035)."""
    return len(name) <= _LONGEST and _SERVICE(name) is not None


def is_dns_label(name: str) -> bool:
    return len(name) <= _LONGEST and _LABEL(name) is not None


def is_identifier(name: str) -> bool:
    return _IDENTIFIER(name) is not None


def kind_of(name: object) -> tuple[str, str, str] | None:
    """The kind, version and group of `Kind.version.group`; None for another form."""
    parts = name.split(".", 2) if isinstance(name, str) else []
    return (parts[0], parts[1], parts[2]) if len(parts) == 3 else None


def negative(value: object, at: str) -> Iterator[Fault]:
    """The fault of a duration if it is below 0. None is valid."""
    length = nanoseconds(value)
    if value is not None and length is None:
        yield no_duration(value, at)
    elif length is not None and length < 0:
        yield invalid(at, f"{value} is below 0; write 0s or more")


def below(value: object, least: int, at: str) -> Iterator[Fault]:
    """The fault of a whole number if it is below `least`. None is valid."""
    number = integer(value)
    if value is not None and (number is None or not least <= number < 2**31):
        yield invalid(at, f"{value!r} is not a number of {least} or more")


def selector(value: object, at: str) -> Iterator[Fault]:
    """The faults of a label selector, with Kubernetes' types of faults."""
    entries = {
        f"{at}.matchExpressions[{index}].values": mapping(entry).get("operator")
        for index, entry in enumerate(listing(mapping(value).get("matchExpressions")))
    }
    for defect in selector_faults(value, at):
        operator = entries.get(defect.field)
        if operator in ("In", "NotIn"):
            yield required(defect.field, defect.message)
        elif operator is not None:
            yield forbidden(defect.field, defect.message)
        else:
            yield invalid(defect.field, defect.message)
