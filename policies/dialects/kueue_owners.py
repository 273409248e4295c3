"""Reads the controller reference of an object. Only the UID in it proves which object is the owner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from policies.dialects.reading import group_kind, listing, mapping, text
from policies.model.objects import GroupKind


class ControllerReference(NamedTuple):
    """A controller reference as written."""

    kind: GroupKind
    name: str
    uid: str


def controller_of(meta: Mapping[str, Any]) -> ControllerReference | None:
    """The owner reference with `controller: true`; None if there is none. An API server refuses a second one."""
    for owner in map(mapping, listing(meta.get("ownerReferences"))):
        if owner.get("controller") is True:
            return ControllerReference(group_kind(owner), text(owner.get("name")) or "", text(owner.get("uid")) or "")
    return None
