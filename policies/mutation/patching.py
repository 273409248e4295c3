"""Applying JSON Patch operations (RFC 6902), as far as `policies.mutation.defaults` makes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any


def patched(manifest: Mapping[str, Any], operations: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The manifest after adding, replacing and removing, made of new parts only.

    Raises LookupError or ValueError where a path leads nowhere.
    """
    whole: Any = deepcopy(dict(manifest))
    for operation in operations:
        *way, last = [step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")[1:]]
        holder = whole
        for step in way:
            holder = holder[int(step)] if isinstance(holder, list) else holder[step]
        _set(holder, last, operation)
    return dict(whole)


def _set(holder: Any, key: str, operation: Mapping[str, Any]) -> None:
    if not isinstance(holder, list):
        if operation["op"] == "remove":
            del holder[key]
        else:
            holder[key] = deepcopy(operation["value"])
    elif operation["op"] == "remove":
        del holder[int(key)]
    elif operation["op"] == "replace":
        holder[int(key)] = deepcopy(operation["value"])
    else:
        holder.insert(len(holder) if key == "-" else int(key), deepcopy(operation["value"]))
