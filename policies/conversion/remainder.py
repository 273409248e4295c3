"""Records the fields that a conversion loses, and restores them.

These are the differences between an object and its conversion to the other version and back. List entries are found by
name, since entries can be added or removed meanwhile. Restored values must match the schema: otherwise users who may
write annotations could store values that the API server would have refused, and that no client can read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from policies.conversion import topology
from policies.schema.compiled import plain
from policies.schema.declarations import Schema

Step: TypeAlias = str | tuple[str]
"""A key of a mapping, or the name of a list entry."""
Steps: TypeAlias = tuple[Step, ...]
Keys: TypeAlias = tuple[str, ...]

_SHAPE = "shape of slices"
"""The key of the shape of slices, which is kept if the domains have the rest."""
_ANNOTATIONS: Steps = ("metadata", "annotations")


@dataclass(frozen=True, slots=True)
class LostFields:
    """Lost fields of one mapping.

    `at`: the path of the mapping.
    `keys`: the fields.
    `value`: their values, without absent fields.
    `seen`: the digest of the values of these fields in the converted object, to detect edits.
    """

    at: Steps
    keys: Keys
    seen: str
    value: Mapping[str, Any]

    def write(self) -> dict[str, Any]:
        return {
            "at": [step if isinstance(step, str) else list(step) for step in self.at],
            "keys": list(self.keys),
            "seen": self.seen,
            "value": dict(self.value),
        }

    @classmethod
    def read(cls, content: object) -> list[LostFields]:
        """Read the result of `write`. Raises ValueError for other content."""
        if not isinstance(content, list):
            raise ValueError("no list")
        return [cls._entry(entry) for entry in content]

    @classmethod
    def _entry(cls, entry: object) -> LostFields:
        match entry:
            case {"at": list(at), "keys": list(keys), "seen": str(seen), "value": dict(value)} if all(
                isinstance(key, str) for key in keys
            ) and value.keys() <= set(keys):
                return cls(tuple(map(_step, at)), tuple(keys), seen, value)
        raise ValueError("not a valid entry")


def remainder(
    body: Mapping[str, Any], back: Mapping[str, Any], units: Sequence[Keys], annotation: str
) -> list[LostFields]:
    """The fields of `body` that differ from `back`. Of the metadata only this annotation is compared.

    `back`: `body` converted to the other version and back.
    `units`: keys that are kept and restored together.
    """
    plain_keys = ("apiVersion", "kind", "metadata")
    one, other = ({key: value for key, value in each.items() if key not in plain_keys} for each in (body, back))
    found = list(_differences(one, other, (), units))
    annotations = body.get("metadata", {}).get("annotations") if isinstance(body.get("metadata"), Mapping) else None
    if isinstance(annotations, Mapping) and annotation in annotations:
        found.append(_lost(_ANNOTATIONS, (annotation,), annotations, {}))
    return found


def restored(made: dict[str, Any], kept: Sequence[LostFields], schema: Schema, annotation: str) -> dict[str, Any]:
    """The object with the lost fields restored, except in places that were edited since then."""
    for lost in kept:
        made = _put_back(made, lost.at, lost, schema, annotation)
    return made


def _differences(
    one: Mapping[str, Any], other: Mapping[str, Any], at: Steps, units: Sequence[Keys]
) -> Iterator[LostFields]:
    for keys in _units(sorted(one.keys() | other.keys()), units if at == ("spec",) else ()):
        if _part(one, keys) == _part(other, keys):
            continue
        deeper = list(_deeper(one, other, at, keys, units))
        yield from deeper or [_lost(at, keys, one, other)]


def _deeper(
    one: Mapping[str, Any], other: Mapping[str, Any], at: Steps, keys: Keys, units: Sequence[Keys]
) -> Iterator[LostFields]:
    """The differences inside one field if both values have mappings or named entries there."""
    if len(keys) > 1 or not (keys[0] in one and keys[0] in other):
        return
    mine, theirs = one[keys[0]], other[keys[0]]
    if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
        yield from _differences(mine, theirs, (*at, keys[0]), units)
    elif (names := _names(mine)) and names == _names(theirs):
        for name, inner, outer in zip(names, mine, theirs, strict=True):
            yield from _differences(inner, outer, (*at, keys[0], (name,)), units)


def _units(keys: Sequence[str], units: Sequence[Keys]) -> Iterator[Keys]:
    for unit in units:
        if not set(unit).isdisjoint(keys):
            yield unit
    grouped = {key for unit in units for key in unit}
    yield from ((key,) for key in keys if key not in grouped)


def _lost(at: Steps, keys: Keys, one: Mapping[str, Any], other: Mapping[str, Any]) -> LostFields:
    value = _part(one, keys)
    if keys == ("slices",) and keys[0] in other and (shape := topology.shape(value.get("slices"))) is not None:
        value = {"slices": {_SHAPE: shape}}
    return LostFields(at, keys, _digest(_part(other, keys)), value)


def _put_back(node: Any, way: Steps, lost: LostFields, schema: Schema, annotation: str) -> Any:
    """The node with the fields restored at the path `way` below it; the unchanged node if they must not be restored."""
    if not way:
        return _with_fields(node, lost, schema, annotation) if isinstance(node, Mapping) else node
    step, rest = way[0], way[1:]
    if isinstance(step, tuple):
        if step[0] not in (names := _names(node)):
            return node
        at = names.index(step[0])
        return [*node[:at], _put_back(node[at], rest, lost, schema, annotation), *node[at + 1 :]]
    if not isinstance(node, Mapping) or (step not in node and lost.at != _ANNOTATIONS):
        return node
    inner = _put_back(node.get(step, {}), rest, lost, schema, annotation)
    return {**node, step: inner} if inner or step in node else node


def _with_fields(node: Mapping[str, Any], lost: LostFields, schema: Schema, annotation: str) -> Mapping[str, Any]:
    present = _part(node, lost.keys)
    if _digest(present) != lost.seen:
        return node
    value = dict(lost.value)
    if isinstance(slices := value.get("slices"), dict) and _SHAPE in slices:
        value["slices"] = topology.of_shape(slices[_SHAPE], topology.expanded(present.get("slices")) or [])
    if not all(_fits(schema, (*lost.at, key), value[key], annotation) for key in value):
        return node
    return {key: inner for key, inner in node.items() if key not in lost.keys} | value


def _fits(schema: Schema, at: Steps, value: object, annotation: str) -> bool:
    if at[0] == "metadata":
        return at == (*_ANNOTATIONS, annotation) and isinstance(value, str)
    node: Any = schema
    for step in at:
        node = node.get("items") if isinstance(step, tuple) else node.get("properties", {}).get(step)
        if not isinstance(node, dict):
            return False
    try:
        return _check(json.dumps(node, sort_keys=True))(value)
    except ValueError:  # a value that JSON does not have
        return False


@lru_cache(maxsize=256)
def _check(node: str) -> Callable[[Any], bool]:
    from jsonschema_rs import Draft202012Validator  # here, since it takes long to load

    return Draft202012Validator(_open(plain(json.loads(node)))).is_valid


def _open(schema: Any) -> Any:
    """The schema without the ban on unknown fields, since a newer CRD may have them."""
    if isinstance(schema, list):
        return [_open(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _open(value) for key, value in schema.items() if not (key == "additionalProperties" and not value)}


def _step(step: object) -> Step:
    match step:
        case str():
            return step
        case [str(name)]:
            return (name,)
    raise ValueError("no step")


def _names(entries: object) -> list[str]:
    """The names of the entries of a list; empty if names do not identify them."""
    if not isinstance(entries, list):
        return []
    names = [name for entry in entries if isinstance(entry, Mapping) and isinstance(name := entry.get("name"), str)]
    return names if len(set(names)) == len(entries) else []


def _part(node: Mapping[str, Any], keys: Keys) -> dict[str, Any]:
    return {key: node[key] for key in keys if key in node}


def _digest(value: object) -> str:
    content = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(content.encode()).hexdigest()[:16]
