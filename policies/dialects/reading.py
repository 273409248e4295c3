"""Reads fields of manifests whose structure may be wrong. All dialects use it.

A value that the schema refuses counts as absent here, so that the rest of the object can still be judged.
`policies.schema.structure` reports these values.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any, NamedTuple, TypeAlias

from policies.model import fields
from policies.model.exemptions import Exemption
from policies.model.exemptions import read as read_exemptions
from policies.model.objects import Defect, GroupKind, KubeObject, Ref
from policies.model.quantity import BadQuantity, Quantity, correction
from policies.schema.structure import defects

Manifest: TypeAlias = Mapping[str, Any]


class Parsed(NamedTuple):
    """An object as its dialect read it, with its manifest if that is known."""

    object: KubeObject
    manifest: Manifest | None = None


def mapping(value: object) -> Mapping[str, Any]:
    if isinstance(value, dict) or value is None:  # first, since checks against an abstract class are slow
        return value or {}
    return value if isinstance(value, Mapping) else {}


def listing(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def text(value: object) -> str | None:
    """The value if it is a non-empty string, else None. To Kubernetes an empty string is an unset field."""
    return value if isinstance(value, str) and value else None


def integer(value: object) -> int | None:
    """The value if it is a whole number, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def texts(value: object) -> dict[str, str]:
    """The texts of a mapping such as labels. Other values are left out."""
    return {key: item for key, item in mapping(value).items() if isinstance(item, str)}


def not_texts(value: object, field: str) -> Iterator[Defect]:
    """A defect for each value of a mapping that is not a string. To the API server, null is an empty string."""
    for key, item in mapping(value).items():
        if item is not None and not isinstance(item, str):
            written = json.dumps(item, default=str)
            meant = written if isinstance(item, int) else None  # also for booleans
            yield Defect(fields.join(field, key), f"{written} is not a string; write it in quotes", write=meant)


def condition(status: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """The condition of this type in a status; empty if there is none."""
    found = map(mapping, listing(status.get("conditions")))
    return next((each for each in found if each.get("type") == kind), {})


def metadata(manifest: Manifest) -> Mapping[str, Any]:
    return mapping(manifest.get("metadata"))


def owner_references(manifest: Manifest) -> Iterator[Mapping[str, Any]]:
    return map(mapping, listing(metadata(manifest).get("ownerReferences")))


def group_kind(manifest: Manifest) -> GroupKind:
    return GroupKind.of(str(manifest.get("apiVersion", "")), str(manifest.get("kind", "")))


def identity(manifest: Manifest, kind: GroupKind, namespaced: bool) -> Ref:
    """The Ref of the object. With generateName, the name is the prefix and a `*`."""
    meta = metadata(manifest)
    name = text(meta.get("name")) or (text(meta.get("generateName")) or "") + "*"
    namespace = (text(meta.get("namespace")) or "default") if namespaced else ""
    return Ref(kind.group, kind.kind, namespace, name)


def exemptions(manifest: Manifest) -> tuple[Exemption, ...]:
    return read_exemptions(mapping(metadata(manifest).get("annotations")))


class ManifestReader:
    """Reads quantities and texts of one manifest, and collects its defects."""

    def __init__(self, manifest: Manifest):
        self._defects = list(defects(manifest)) if manifest else []
        self._faulty = {defect.field for defect in self._defects}

    def defects(self) -> tuple[Defect, ...]:
        return tuple(self._defects)

    def bad(self, field: str, message: str, write: str | None = None) -> None:
        """Add a defect for a field without a usable quantity, unless the schema has reported the field.

        `write`: the quantity that was certainly meant, or None.
        """
        if field not in self._faulty:
            self._note(Defect(field, message, quantity=True, write=write))

    def texts(self, value: object, field: str) -> dict[str, str]:
        """The texts of a mapping such as annotations. The API server refuses other values, so they are defects."""
        for defect in not_texts(value, field):
            self._note(defect)
        return texts(value)

    def _note(self, defect: Defect) -> None:
        self._defects.append(defect)
        self._faulty.add(defect.field)

    def quantity(self, value: object, field: str, *keys: str) -> Quantity | None:
        """The quantity; None if it is absent, unusable or negative. `keys` lead from the field to the quantity."""
        if value is None:
            return None
        try:
            quantity = Quantity.parse(value)
        except BadQuantity as error:
            self.bad(fields.join(field, *keys), str(error), correction(value))
            return None
        if quantity.nano < 0:
            message = f"{quantity.text} is negative; an amount of quota is 0 or more"
            self.bad(fields.join(field, *keys), message)
            return None
        return quantity

    def amounts(self, value: object, field: str, whole: Callable[[str], bool] | None = None) -> dict[str, Quantity]:
        """The quantities by resource name. `whole`: returns whether a resource may only have whole units."""
        found: dict[str, Quantity] = {}
        for resource, item in mapping(value).items():
            quantity = self.quantity(item, field, resource)
            if quantity is None:
                continue
            if whole is not None and quantity.nano % 10**9 and whole(resource):
                message = f"{quantity.text} is a fraction; {resource} comes in whole units only"
                self.bad(fields.join(field, resource), message)
                continue
            found[resource] = quantity
        return found


def replaced(manifest: Manifest, path: str, value: object) -> dict[str, Any]:
    """A copy with this value at a path of keys. None removes the value."""
    made = deepcopy(dict(manifest))
    *steps, last = path.split(".")
    holder = made
    for step in steps:
        holder = holder.setdefault(step, {})
    if value is None:
        holder.pop(last, None)
    else:
        holder[last] = value
    return made
