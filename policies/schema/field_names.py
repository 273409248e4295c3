"""Finds fields that Kubernetes' own types do not have, by the names in `kubernetes_fields.json`.

The names are those of the API server that the tests run. `make field-names` writes the file. It is loaded with the
first object of such a type.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from policies.model.fields import Path as FieldPath
from policies.model.suggestion import KnownNames, bare, close

FILE = Path(__file__).with_name("kubernetes_fields.json")
POD_TEMPLATE = "PodTemplateSpec"
_MOST = 100  # the most unknown fields of one object that are reported, since it takes long to find what is meant
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


@dataclass(frozen=True)
class FieldsOf:
    """The fields of one type. `type_of_field`: the type of each value; None if the values are not checked."""

    type_of_field: Mapping[str, str | None]

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
        """The type of a manifest; None for unknown kinds and versions."""
        api_version, kind = manifest.get("apiVersion"), manifest.get("kind")
        if not isinstance(api_version, str) or not isinstance(kind, str):
            return None
        return kind if kind in self.kinds.get(api_version, ()) else None

    def unknown(self, value: object, type: str) -> list[Unknown]:
        """The first hundred fields in the value that their types do not have. Parts that aliases repeat are visited
        once."""
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

    def _elsewhere(self, path: FieldPath, type: str) -> FieldPath:
        """The path at which a type has a field of this name: around the field, or at the only place up to two steps
        below."""
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


@cache
def field_names() -> FieldNames:
    content = json.loads(FILE.read_text(encoding="utf-8"))
    return FieldNames(
        version=content["version"],
        kinds={version: frozenset(kinds) for version, kinds in content["kinds"].items()},
        types={name: FieldsOf(held) for name, held in content["types"].items()},
    )
