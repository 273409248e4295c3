"""Makes and applies JSON Patches (RFC 6902): those of rules and of the mutating webhook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from policies.dialects.reading import mapping, text
from policies.model.fields import pointer, unpointed

Patch: TypeAlias = list[dict[str, Any]]


def added(value: object, *path: str | int) -> dict[str, Any]:
    return {"op": "add", "path": pointer(*path), "value": value}


def removed(*path: str | int) -> dict[str, Any]:
    return {"op": "remove", "path": pointer(*path)}


def missing_texts(
    meta: Mapping[str, Any], path: tuple[str | int, ...], key: str, wanted: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """The operations that add missing labels or annotations.

    `key`: `labels` or `annotations`; the field is created if it is missing.
    """
    present = mapping(meta.get(key))
    missing = {name: value for name, value in wanted.items() if text(present.get(name)) != value}
    if missing and not isinstance(meta.get(key), dict):
        yield added({}, *path, key)
    for name, value in missing.items():
        yield added(value, *path, key, name)


def patched(manifest: Mapping[str, Any], operations: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """A changed copy of the manifest. The operations may be add, replace, remove and move.

    Only the objects and lists on the paths are copied: a full copy would recurse as deep as the manifest. Raises
    LookupError, ValueError or TypeError if a path leads nowhere. `replace` adds a missing field.
    """
    copy: dict[str, Any] = dict(manifest)
    for operation in operations:
        if operation["op"] == "move":
            value = _value(copy, operation["from"])
            _change(copy, {"op": "remove", "path": operation["from"]})
            operation = {"op": "add", "path": operation["path"], "value": value}
        _change(copy, operation)
    return copy


def _value(part: Any, path: str) -> Any:
    for step in unpointed(path):
        part = part[int(step) if isinstance(part, list) else step]
    return part


def _change(copy: dict[str, Any], operation: Mapping[str, Any]) -> None:
    *way, last = unpointed(operation["path"])
    parent: Any = copy
    for step in way:
        key = int(step) if isinstance(parent, list) else step
        child = parent[key]
        parent[key] = list(child) if isinstance(child, list) else dict(child)
        parent = parent[key]
    _set(parent, last, operation)


def _set(parent: Any, key: str, operation: Mapping[str, Any]) -> None:
    at: Any = int(key) if isinstance(parent, list) and key != "-" else key
    if operation["op"] == "remove":
        del parent[at]
    elif operation["op"] == "replace" or not isinstance(parent, list):
        parent[at] = operation["value"]
    else:
        parent.insert(len(parent) if key == "-" else at, operation["value"])
