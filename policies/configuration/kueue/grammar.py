"""Checks of names and values that several sections of the Configuration use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from policies.configuration.kueue.durations import nanoseconds, no_duration
from policies.configuration.kueue.fault import Fault, forbidden, invalid, required
from policies.dialects.labels import selector_faults
from policies.dialects.reading import integer, listing, mapping
from policies.schema.values import value_text

_SERVICE = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?").fullmatch
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?").fullmatch
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch
_LONGEST = 63
_LARGEST = 2**31 - 1
_OF_VALUES: Mapping[object, Callable[[str, str], Fault]] = {
    "In": required,
    "NotIn": required,
    "Exists": forbidden,
    "DoesNotExist": forbidden,
}
"""The fault of the `values` of a label selector, by operator."""


def is_service_name(name: str) -> bool:
    """Whether the name is a DNS label that begins with a letter (RFC 1035)."""
    return len(name) <= _LONGEST and _SERVICE(name) is not None


def is_dns_label(name: str) -> bool:
    return len(name) <= _LONGEST and _LABEL(name) is not None


def is_identifier(name: str) -> bool:
    return _IDENTIFIER(name) is not None


def kind_of(name: object) -> tuple[str, str, str] | None:
    """The kind, version and group of a name like `Kind.version.group`; None for another form."""
    parts = name.split(".", 2) if isinstance(name, str) else []
    return (parts[0], parts[1], parts[2]) if len(parts) == 3 else None


def duration_faults(value: object, at: str) -> Iterator[Fault]:
    """The fault of a value that is not a duration of 0 or more. An absent value is valid."""
    length = nanoseconds(value)
    if value is not None and length is None:
        yield no_duration(value, at)
    elif length is not None and length < 0:
        yield invalid(at, f"{value} is below 0; write 0s or more")


def number_faults(value: object, least: int, at: str) -> Iterator[Fault]:
    """The fault of a value that is not a whole number of `least` or more in 32 bits. An absent value is valid."""
    number = integer(value)
    if value is not None and (number is None or not least <= number <= _LARGEST):
        yield invalid(at, f"{value_text(value)} is not a whole number from {least} to {_LARGEST}")


def label_selector_faults(value: object, at: str) -> Iterator[Fault]:
    """The faults of a label selector, with the types that Kubernetes gives them."""
    operators = {
        f"{at}.matchExpressions[{index}].values": mapping(entry).get("operator")
        for index, entry in enumerate(listing(mapping(value).get("matchExpressions")))
    }
    for defect in selector_faults(value, at):
        fault = _OF_VALUES.get(operators.get(defect.field), invalid)
        yield fault(defect.field, defect.message)
