"""Applying JSON Patch operations (RFC 6902), as far as `policies.mutation.defaults` makes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def patched(manifest: Mapping[str, Any], operations: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The manifest after adding, replacing and removing; the given one stays as it is.

    Parts on the way to a change are new, all others are shared: a copy of all needs a stack as deep as the manifest.
    Raises LookupError or ValueError where a path leads nowhere.
    """
    whole: dict[str, Any] = dict(manifest)
    for operation in operations:
        *way, last = [step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")[1:]]
        holder: Any = whole
        for step in way:
            key = int(step) if isinstance(holder, list) else step
            holder[key] = _own(holder[key])
            holder = holder[key]
        _set(holder, last, operation)
    return whole


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
