"""Finds fields and ownership that a server-side apply leaves behind because of other field managers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_IDENTITIES = (("type",), ("reason", "underlyingCause"), ("name",))
"""The key fields of an entry, for each kind of list that server-side apply merges."""


def leftovers(found: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """The part of the merge patch that still has fields to remove from `found`; empty if there are none."""
    left: dict[str, Any] = {}
    for key, wanted in patch.items():
        has = found.get(key)
        if has is None:
            continue
        if wanted is None or (isinstance(wanted, list) and _exceeds(has, wanted)):
            left[key] = wanted
        elif isinstance(wanted, Mapping) and isinstance(has, Mapping) and (below := leftovers(has, wanted)):
            left[key] = below
    return left


def _exceeds(found: object, wanted: object) -> bool:
    """Whether `found` has fields or entries that `wanted` does not have. A different value is a newer one and stays."""
    if isinstance(found, Mapping) and isinstance(wanted, Mapping):
        return any(key not in wanted or _exceeds(value, wanted[key]) for key, value in found.items())
    if isinstance(found, list) and isinstance(wanted, list):
        there, entries = [_identity(each) for each in found], {_identity(each): each for each in wanted}
        if None in (*there, *entries):
            return False  # replaced as a whole
        return any(
            name not in entries or _exceeds(each, entries[name]) for name, each in zip(there, found, strict=True)
        )
    return False


def _identity(entry: object) -> tuple[object, ...] | None:
    if not isinstance(entry, Mapping):
        return None
    keys = next((keys for keys in _IDENTITIES if entry.keys() >= set(keys)), None)
    return tuple(entry[key] for key in keys) if keys is not None else None


def owners_without(
    found: Mapping[str, Any], managers: Mapping[str, Mapping[str, Any] | None], subresource: str | None
) -> list[Mapping[str, Any]] | None:
    """The managedFields without the entries of these managers for patches and updates; None if there are none.

    `managers`: a manager to None, or to an object; then its entry is only removed if it owns a field of this object.
    """
    entries = found["metadata"].get("managedFields") or []
    kept = [each for each in entries if not _is_ended(each, managers, subresource)]
    return kept if len(kept) < len(entries) else None


def _is_ended(
    entry: Mapping[str, Any], managers: Mapping[str, Mapping[str, Any] | None], subresource: str | None
) -> bool:
    manager = str(entry.get("manager"))
    if manager not in managers or (entry.get("operation"), entry.get("subresource")) != ("Update", subresource):
        return False
    of = managers[manager]
    return of is None or _overlaps(entry.get("fieldsV1") or {}, of)


def _overlaps(fields: Mapping[str, Any], of: Mapping[str, Any]) -> bool:
    """Whether the field set (fieldsV1) contains a field of the object `of`."""
    return any(
        not isinstance(value, Mapping) or not fields[f"f:{key}"] or _overlaps(fields[f"f:{key}"], value)
        for key, value in of.items()
        if f"f:{key}" in fields
    )
