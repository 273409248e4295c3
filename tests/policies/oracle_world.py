"""A world of plain manifests for the second opinion on `policies`: its keys, its edits and its amounts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

Manifest = dict[str, Any]


class Key(NamedTuple):
    kind: str
    namespace: str
    name: str


World = dict[Key, Manifest]
Edit = dict[Key, Manifest | None]
Fault = tuple[str, Key, str]
Faults = dict[Fault, Fraction]
NONE = Fraction(0)
YUNIKORN = "yunikorn.apache.org/namespace."
CONFIGS = Key("ConfigMap", "yunikorn", "yunikorn-configs")
_UNITS = {
    "": Fraction(1),
    "m": Fraction(1, 1000),
    "k": Fraction(1000),
    "Ki": Fraction(1024),
    "Mi": Fraction(1024**2),
    "Gi": Fraction(1024**3),
}
_AMOUNT = re.compile(r"([+-]?[0-9]+(?:\.[0-9]+)?)(|m|k|Ki|Mi|Gi)").fullmatch


def key_of(manifest: Manifest) -> Key:
    meta = manifest["metadata"]
    return Key(manifest["kind"], meta.get("namespace", ""), meta["name"])


def applied(world: World, edit: Edit) -> World:
    after = {key: manifest for key, manifest in world.items() if key not in edit}
    return after | {key: manifest for key, manifest in edit.items() if manifest is not None}


def amount(text: object, whole: bool = False) -> Fraction | None:
    """None for what is no amount, negative, or a fraction of what comes only whole."""
    match = _AMOUNT(text) if isinstance(text, str) else None
    value = Fraction(match[1]) * _UNITS[match[2]] if match else None
    return None if value is None or value < 0 or (whole and value.denominator != 1) else value


Row = tuple[str, Key, str, Fraction]


def of_kind(world: World, *kinds: str) -> Iterator[tuple[Key, Manifest]]:
    return ((key, manifest) for key, manifest in world.items() if key.kind in kinds)
