"""Resource versions of one kind, which grow as decimal numbers. Source: KEP-5504, Comparable Resource Version."""

from __future__ import annotations


def older(version: str, than: str) -> bool:
    """Whether the version is older than another one. A version that cannot be compared counts as newer."""
    if not (version.isdecimal() and than.isdecimal()):
        return False
    return (len(version), version) < (len(than), than)


def reached(position: str, version: str) -> bool:
    """Whether a watch at `position` has reported `version` already."""
    return position.isdecimal() and version.isdecimal() and not older(position, version)
