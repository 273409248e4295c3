"""Applies the JSON Patch operations (RFC 6902) that rules and `policies.mutation.defaults` use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from policies.model.fields import pointer, unpointed

Patch: TypeAlias = list[dict[str, Any]]


def added(value: object, *path: str | int) -> dict[str, Any]:
    return {"op": "add", "path": pointer(*path), "value": value}


def removed(*path: str | int) -> dict[str, Any]:
    return {"op": "remove", "path": pointer(*path)}


def patched(manifest: Mapping[str, Any], operations: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """A changed copy of the manifest. Operations are add, replace, remove and move.

    Only the parts on the paths of changes are copied, since a full copy needs a stack as deep as the manifest.
    Raises LookupError or ValueError if a path does not exist.
    """
    whole: dict[str, Any] = dict(manifest)
    for operation in operations:
        if operation["op"] == "move":
            value = _value(whole, operation["from"])
            _change(whole, {"op": "remove", "path": operation["from"]})
            operation = {"op": "add", "path": operation["path"], "value": value}
        _change(whole, operation)
    return whole


def _value(whole: Any, pointer: str) -> Any:
    for step in unpointed(pointer):
        whole = whole[int(step) if isinstance(whole, list) else step]
    return whole


def _change(whole: dict[str, Any], operation: Mapping[str, Any]) -> None:
    *way, last = unpointed(operation["path"])
    holder: Any = whole
    for step in way:
        key = int(step) if isinstance(holder, list) else step
        holder[key] = _own(holder[key])
        holder = holder[key]
    _set(holder, last, operation)


def _own(part: Any) -> Any:
    return list(part) if isinstance(part, list) else dict(part)


def _set(holder: Any, key: str, operation: Mapping[str, Any]) -> None:
    if not isinstance(holder, list):
        if operation["op"] == "remove":
            del holder[key]
        else:
            holder[key] = operation["value"]
    elif operation["op"] == "remove":
        del holder[int(key)]
    elif operation["op"] == "replace":
        holder[int(key)] = operation["value"]
    else:
        holder.insert(len(holder) if key == "-" else int(key), operation["value"])
