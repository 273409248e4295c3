"""Compares resource versions."""

from __future__ import annotations


def is_newer(version: str, than: str | None) -> bool:
    """Whether `version` is newer than `than`. Resource versions of a kind are increasing decimal numbers.

    If one of them is not a number, `version` counts as newer. Source: KEP-5504, Comparable Resource Version.
    """
    known = than or ""
    if not (version.isdecimal() and known.isdecimal()):
        return True
    return (len(version), version) > (len(known), known)


def is_older(version: str, than: str) -> bool:
    """Whether `version` is older than `than`; false if one of them is not a number."""
    return version.isdecimal() and than.isdecimal() and is_newer(than, version)
