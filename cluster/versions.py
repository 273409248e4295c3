"""Resource versions, and which of two is newer."""

from __future__ import annotations


def is_newer(version: str, than: str | None) -> bool:
    """Whether `version` is newer; the versions of one resource are growing decimal numbers.

    Anything else is opaque and counts as newer. Source: KEP-5504, Comparable Resource Version.
    """
    known = than or ""
    if not (version.isdecimal() and known.isdecimal()):
        return True
    return (len(version), version) > (len(known), known)
