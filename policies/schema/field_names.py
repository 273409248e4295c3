"""Finds fields that Kubernetes' own types do not have, and values of a wrong type, by `kubernetes_fields.json`.

The names and types are those of the API server that the tests run. `make field-names` writes the file. It is loaded
with the first object of such a type.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from policies.model.fields import Path as FieldPath
from policies.model.suggestion import KnownNames, bare, close

FILE = Path(__file__).with_name("kubernetes_fields.json")
POD_TEMPLATE = "PodTemplateSpec"
_MOST = 100  # the most unknown fields of one object that are reported, since it takes long to find what is meant
_MOST_INTEGER = 2**63
_LIKE = 0.75  # the least similarity by difflib: that of priorityClass and priorityClassName


class Unknown(NamedTuple):
    """A field that its type does not have.

    `meant`: the path of a known field with a similar name, or with the same name in a type around or below; empty if
    there is none.
    `near`: absent fields of the same type that the name may be a misspelling of, the most similar first. If there are
    any, the name is certainly wrong.
    `short`: whether the name is that of `meant` without its last word, and no other field of the type begins with it.
    """

    path: FieldPath
    meant: FieldPath = ()
    near: tuple[str, ...] = ()
    short: bool = False


class WrongType(NamedTuple):
    """A value of a type that its field does not take. `wanted`: the types that it takes, see `values.wrong_type`."""

    path: FieldPath
    value: object
    wanted: tuple[str, ...]


_VALUES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int, float, Decimal),
    "number": (int, float, Decimal),
    "boolean": (bool,),
    "quantity": (int, float, Decimal, str),
    "integer or string": (int, str),
}
"""The Python types of the values of each type in the file, as a manifest is read."""


@dataclass(frozen=True)
class FieldsOf:
    """The fields of one type.

    `shapes`: what each field takes: a type, [type] for a list or {type} for a mapping; None if it is not checked.
    """

    shapes: Mapping[str, str | None]

    @cached_property
    def type_of_field(self) -> Mapping[str, str | None]:
        """The type that each value has, or each entry of its list; None for a value without fields."""
        return {name: _with_fields(shape) for name, shape in self.shapes.items()}

    def unknown(self, name: str, path: FieldPath, beside: Mapping[str, Any]) -> Unknown:
        same = self._by_bare_name.get(bare(name))
        near = [same] if same else self._names.near(name)
        if near and near[0] not in beside:
            return Unknown(path, (*path[:-1], near[0]), tuple(each for each in near if each not in beside))
        longer = [each for each in self.type_of_field if each.startswith(name) and each[len(name)].isupper()]
        if len(longer) == 1 and longer[0] not in beside and longer[0][len(name) + 1 :].islower():
            return Unknown(path, (*path[:-1], longer[0]), short=True)
        like = close(name, (each for each in self.type_of_field if each not in beside), _LIKE)
        return Unknown(path, (*path[:-1], like) if like else ())

    @cached_property
    def _names(self) -> KnownNames:
        return KnownNames(self.type_of_field)

    @cached_property
    def _by_bare_name(self) -> Mapping[str, str]:
        return {bare(name): name for name in self.type_of_field}


@dataclass(frozen=True)
class FieldNames:
    """The types of a version of Kubernetes.

    `version`: such as 1.36.
    `kinds`: the kinds of each apiVersion.
    `types`: the fields of each type.
    """

    version: str
    kinds: Mapping[str, frozenset[str]]
    types: Mapping[str, FieldsOf]

    def type_of(self, manifest: Mapping[str, Any]) -> str | None:
        api_version, kind = manifest.get("apiVersion"), manifest.get("kind")
        if not isinstance(api_version, str) or not isinstance(kind, str):
            return None
        return kind if kind in self.kinds.get(api_version, ()) else None

    def unknown(self, value: object, type: str) -> list[Unknown]:
        """The first hundred fields in the value that their types do not have. Repeated parts are visited once."""
        found = islice(self._unknown(value, type, (), set()), _MOST)
        return [each if each.meant else each._replace(meant=self._elsewhere(each.path, type)) for each in found]

    def _unknown(self, value: object, type: str, path: FieldPath, seen: set[tuple[int, str]]) -> Iterator[Unknown]:
        if (id(value), type) in seen:
            return
        seen.add((id(value), type))
        if isinstance(value, list):
            for index, entry in enumerate(value):
                if isinstance(entry, dict):
                    yield from self._unknown(entry, type, (*path, index), seen)
        elif isinstance(value, dict):
            of = self.types[type]
            for name, item in value.items():
                if name not in of.type_of_field:
                    if isinstance(name, str):
                        yield of.unknown(name, (*path, name), value)
                elif item and (inner := of.type_of_field[name]) is not None:
                    yield from self._unknown(item, inner, (*path, name), seen)

    def wrong(self, value: object, type: str) -> list[WrongType]:
        """The values of wrong types in the value, and below it: the first hundred. Aliases are checked once."""
        return [*islice(self._wrong(value, type, (), set()), _MOST)]

    def _wrong(
        self, value: object, shape: str | None, path: FieldPath, seen: set[tuple[int, str]]
    ) -> Iterator[WrongType]:
        """To the API server, null is an empty value of any type."""
        if value is None or shape is None:
            return
        if (types := _VALUES.get(shape)) is not None:
            if not _is_of(value, types) or (shape == "integer" and not _is_whole(value)):
                yield WrongType(path, value, tuple(shape.split(" or ")))
            return
        kind = list if shape.startswith("[") else dict
        if not isinstance(value, kind):
            yield WrongType(path, value, ("array" if kind is list else "object",))
            return
        if (id(value), shape) in seen:
            return
        seen.add((id(value), shape))
        if isinstance(value, list):
            for index, entry in enumerate(value):
                yield from self._wrong(entry, shape[1:-1] or None, (*path, index), seen)
        else:
            of = None if shape.startswith("{") else self.types[shape]
            for name, item in value.items():
                inner = of.shapes.get(name) if of is not None else shape[1:-1] or None
                yield from self._wrong(item, inner, (*path, name), seen)

    def _elsewhere(self, path: FieldPath, type: str) -> FieldPath:
        """Where a type has a field of this name: around the field, or at the only place up to two steps below."""
        *steps, name = path
        around: list[tuple[FieldPath, str]] = [((), type)]
        for index, step in enumerate(steps, 1):
            _, last = around[-1]
            if isinstance(step, int):
                around[-1] = (tuple(steps[:index]), last)
            else:
                around.append((tuple(steps[:index]), self.types[last].type_of_field[step] or ""))
        below = [around.pop()]
        for at, type in reversed(around):
            if name in self.types[type].type_of_field:
                return (*at, name)
        for _ in range(2):
            below = [
                ((*at, field), inner)
                for at, type in below
                for field, inner in self.types[type].type_of_field.items()
                if inner is not None
            ]
            found = [(*at, name) for at, type in below if name in self.types[type].type_of_field]
            if found:
                return found[0] if len(found) == 1 else ()
        return ()


def _with_fields(shape: str | None) -> str | None:
    inner = (shape or "").strip("[]")
    return inner if inner[:1].isupper() else None


def _is_of(value: object, types: tuple[type, ...]) -> bool:
    """A boolean is an integer to Python only."""
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))


def _is_whole(number: object) -> bool:
    """Whether the number is an integer that fits into 64 bits. Larger Decimals have no remainder in Python."""
    if isinstance(number, float | Decimal):
        return -_MOST_INTEGER <= number < _MOST_INTEGER and not number % 1
    return True


@cache
def field_names() -> FieldNames:
    content = json.loads(FILE.read_text(encoding="utf-8"))
    return FieldNames(
        version=content["version"],
        kinds={version: frozenset(kinds) for version, kinds in content["kinds"].items()},
        types={name: FieldsOf(held) for name, held in content["types"].items()},
    )
