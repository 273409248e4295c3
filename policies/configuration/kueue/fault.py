"""Faults of a Configuration, with the same types and fields as Kueue reports."""

from __future__ import annotations

from dataclasses import dataclass

from policies.model.suggestion import suggest

PODS = "pods"
_MANY = 4
"""If more values than this are allowed, a message names only the most similar one."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault. `type`: Kubernetes' name for it, such as FieldValueInvalid. `field`: a path such as `a.b[0].c`."""

    type: str
    field: str
    message: str


def invalid(field: str, message: str) -> Fault:
    return Fault("FieldValueInvalid", field, message)


def required(field: str, message: str = "is missing; give it a value") -> Fault:
    return Fault("FieldValueRequired", field, message)


def duplicate(field: str, value: object) -> Fault:
    return Fault("FieldValueDuplicate", field, f"{_short(value)} is listed twice; keep one of them")


def forbidden(field: str, message: str) -> Fault:
    return Fault("FieldValueForbidden", field, message)


def unsupported(field: str, value: object, *known: str) -> Fault:
    hint = suggest(value, known) if len(known) > _MANY else f"write {' or '.join(known)}"
    return Fault("FieldValueNotSupported", field, f"{_short(value)} is unknown; {hint}")


def reserved_name(field: str) -> Fault:
    return invalid(field, f"{PODS} is reserved: Kueue counts pods under this name; use another one")


def too_many(field: str, count: int, most: int) -> Fault:
    return Fault("FieldValueTooMany", field, f"{count} entries; at most {most} are allowed")


def too_long(field: str, most: int) -> Fault:
    return Fault("FieldValueTooLong", field, f"longer than {most} characters; shorten it")


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
