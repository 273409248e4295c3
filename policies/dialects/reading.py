"""Shared by all dialects: lenient look-ups in a manifest whose structure may be wrong.

`policies.schema.structure` lists what the schema refuses; here such a value counts as absent, so that the rest of the
object can still be judged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from policies.model import fields
from policies.model.defect import Defect
from policies.model.exemptions import Exemption
from policies.model.exemptions import read as read_exemptions
from policies.model.objects import GroupKind, KubeObject, Ref
from policies.model.quantity import BadQuantity, Quantity, correction
from policies.schema.structure import defects

Manifest: TypeAlias = Mapping[str, Any]


class Parsed(NamedTuple):
    """An object as its dialect read it, with its manifest where that is at hand."""

    object: KubeObject
    manifest: Manifest | None = None


def mapping(value: object) -> Mapping[str, Any]:
    if isinstance(value, dict) or value is None:  # first: to ask an abstract class takes long
        return value or {}
    return value if isinstance(value, Mapping) else {}


def listing(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def text(value: object) -> str | None:
    """A text that is not empty; an empty one means absent throughout Kubernetes."""
    return value if isinstance(value, str) and value else None


def integer(value: object) -> int | None:
    """The number; None where it is absent or not a whole number, which the schema refuses."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def texts(value: object) -> dict[str, str]:
    """A mapping of texts, such as labels; other values are left out."""
    return {key: item for key, item in mapping(value).items() if isinstance(item, str)}


def not_texts(value: object, field: str) -> Iterator[Defect]:
    """The values of such a mapping that are not texts. To the API server, null is an empty text."""
    for key, item in mapping(value).items():
        if item is not None and not isinstance(item, str):
            written = json.dumps(item, default=str)
            meant = written if isinstance(item, int) else None  # a boolean is one too
            yield Defect(fields.join(field, key), f"{written} is not a string; write it in quotes", write=meant)


def condition(status: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """The condition of this type in a status; empty if there is none."""
    found = map(mapping, listing(status.get("conditions")))
    return next((each for each in found if each.get("type") == kind), {})


def metadata(manifest: Manifest) -> Mapping[str, Any]:
    return mapping(manifest.get("metadata"))


def group_kind(manifest: Manifest) -> GroupKind:
    """The kind of the object, or that an owner reference names."""
    return GroupKind.of(str(manifest.get("apiVersion", "")), str(manifest.get("kind", "")))


def identity(manifest: Manifest, kind: GroupKind, namespaced: bool) -> Ref:
    """The object's Ref; an object made by generateName has that prefix and a `*` as its name."""
    meta = metadata(manifest)
    name = text(meta.get("name")) or (text(meta.get("generateName")) or "") + "*"
    namespace = (text(meta.get("namespace")) or "default") if namespaced else ""
    return Ref(kind.group, kind.kind, namespace, name)


def exemptions(manifest: Manifest) -> tuple[Exemption, ...]:
    """The exemptions that the object asks for, whatever its kind."""
    return read_exemptions(mapping(metadata(manifest).get("annotations")))


class ManifestReader:
    """Reads quantities and texts out of one manifest and gathers its defects."""

    def __init__(self, manifest: Manifest):
        self._defects = list(defects(manifest)) if manifest else []
        self._faulty = {defect.field for defect in self._defects}

    def defects(self) -> tuple[Defect, ...]:
        return tuple(self._defects)

    def bad(self, field: str, message: str, write: str | None = None) -> None:
        """Note that the field holds no usable quantity, unless the schema has said something about it already.

        `write` is the quantity that was meant, where that is certain.
        """
        if field not in self._faulty:
            self._note(Defect(field, message, quantity=True, write=write))

    def texts(self, value: object, field: str) -> dict[str, str]:
        """A mapping of texts, such as annotations. The API server refuses the whole object over any other value."""
        for defect in not_texts(value, field):
            self._note(defect)
        return texts(value)

    def _note(self, defect: Defect) -> None:
        self._defects.append(defect)
        self._faulty.add(defect.field)

    def quantity(self, value: object, field: str, *keys: str) -> Quantity | None:
        """The quantity, not negative; None where absent or unusable. `keys` lead on from the field to it."""
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
        """Quantities by resource name; resources for which `whole` is true come in whole units only."""
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
