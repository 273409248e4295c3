"""Compiles a declared version for checking: to plain JSON Schema, and to the places of rules and keyed lists.

An API server treats a structural schema differently from plain JSON Schema in four ways, which are added to the plain
schema here. Unknown fields are refused (later they become warnings). A null counts as absent, except in a list.
Integers have the range of their format. A required field with a default is never missing. `policies.schema.structure`
compares the entries of sets and of keyed lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from policies.schema.declarations import Schema
from policies.schema.structure_rules import RULES, StructureCheck

Steps: TypeAlias = tuple[str, ...]

EACH = "*"
"""The step to all entries of a list, or all values of a mapping. No property has this name."""

_KEPT = [
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "x-expected",
    "x-quantity",
]
_RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
_DATE_TIME = (
    r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    r"(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$"
)


@dataclass(frozen=True, slots=True)
class KeyedList:
    """A list whose entries must differ in `keys`, which are fields, each with its default.

    A set has no keys: its entries are strings, which must differ.
    """

    steps: Steps
    keys: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class PlacedRule:
    """A CEL rule of the schema.

    `steps`: the place of the value that it checks.
    `id`: the id of its Python check.
    `transition`: whether it compares the value with the one before the change.
    """

    steps: Steps
    id: str
    message: str
    transition: bool


@dataclass(slots=True)
class KeyedPlace:
    """The keyed lists and the checks of one place.

    `below`: the places below it, by the next step of the path. With these, one walk over a manifest reaches all places.
    """

    below: dict[str, KeyedPlace] = field(default_factory=dict)
    keyed: list[KeyedList] = field(default_factory=list)
    checks: list[StructureCheck] = field(default_factory=list)

    def at(self, steps: Steps) -> KeyedPlace:
        here = self
        for step in steps:
            here = here.below.setdefault(step, KeyedPlace())
        return here


@dataclass(frozen=True)
class Compiled:
    """One version of one kind.

    `document`: the plain JSON Schema.
    `keyed`: the keyed lists.
    `rules`: the rules about the object alone.
    `transitions`: the rules that compare it with the object before the change.
    `has_status`: whether the status is a subresource.
    """

    document: Schema
    keyed: tuple[KeyedList, ...]
    rules: tuple[PlacedRule, ...]
    transitions: tuple[PlacedRule, ...]
    has_status: bool

    @cached_property
    def lists(self) -> KeyedPlace:
        top = KeyedPlace()
        for keyed in self.keyed:
            top.at(keyed.steps).keyed.append(keyed)
        return top

    @cached_property
    def places(self) -> KeyedPlace:
        top = KeyedPlace()
        for keyed in self.keyed:
            top.at(keyed.steps).keyed.append(keyed)
        for rule in self.rules:
            top.at(rule.steps).checks.append(RULES[rule.id])
        return top

    @cached_property
    def is_sound(self) -> Callable[[Any], bool]:
        """A fast test for valid structure. It raises ValueError for values that JSON does not have, such as a key that
        is not a string."""
        from jsonschema_rs import Draft202012Validator  # here, since it takes long to load

        return Draft202012Validator(self.document).is_valid


def compiled(version: Schema) -> Compiled:
    schema = version["schema"]
    document = plain({**schema, "required": ["metadata", *schema.get("required", ())]})
    document["properties"] |= {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
    places = list(_places(schema, ()))
    rules = [rule for steps, node in places for rule in _rules(steps, node)]
    return Compiled(
        document=document,
        keyed=tuple(
            KeyedList(steps, _keys(node))
            for steps, node in places
            if node.get("x-kubernetes-list-type") in ("map", "set")
        ),
        rules=tuple(rule for rule in rules if not rule.transition),
        transitions=tuple(rule for rule in rules if rule.transition),
        has_status=version.get("status", False),
    )


def plain(node: Schema, nullable: bool = False) -> Schema:
    """The structural schema `node` as plain JSON Schema."""
    node = {**node, **node.get("offline", {})}
    result = {key: node[key] for key in _KEPT if key in node}
    types = ["integer", "string"] if "x-kubernetes-int-or-string" in node else [node["type"]] if "type" in node else []
    if types:
        result["type"] = [*types, "null"] if nullable else types
    if nullable and "enum" in node:
        result["enum"] = [*node["enum"], None]
    if "integer" in types:
        low, high = _RANGES[node.get("format", "int64")]
        result["minimum"] = max(low, node.get("minimum", low))
        result["maximum"] = min(high, node.get("maximum", high))
    if node.get("format") == "date-time":
        result |= {"pattern": _DATE_TIME, "x-expected": "a time as in 2025-01-31T12:00:00Z"}
    return result | _inside(node)


def _inside(node: Schema) -> Schema:
    """The keywords about the content of an object or list."""
    result: Schema = {key: node[key] for key in ("anyOf",) if key in node and "x-kubernetes-int-or-string" not in node}
    for key in ("items", "propertyNames"):
        if key in node:
            result[key] = plain(node[key])
    if node.get("type") != "object":
        return result
    properties = node.get("properties", {})
    required = [name for name in node.get("required", ()) if "default" not in properties.get(name, {})]
    if properties:
        result["properties"] = {name: plain(value, name not in required) for name, value in properties.items()}
    if required:
        result["required"] = required
    if "additionalProperties" in node:
        result["additionalProperties"] = plain(node["additionalProperties"], nullable=True)
    elif not node.get("x-kubernetes-preserve-unknown-fields"):
        result["additionalProperties"] = False
    return result


def _places(node: Schema, steps: Steps) -> Iterator[tuple[Steps, Schema]]:
    """The schema `node` and all schemas in it, each with its place."""
    yield steps, node
    for name, value in node.get("properties", {}).items():
        yield from _places(value, (*steps, name))
    for key in ("items", "additionalProperties"):
        if key in node:
            yield from _places(node[key], (*steps, EACH))


def _keys(node: Schema) -> tuple[tuple[str, Any], ...]:
    properties = node["items"].get("properties", {})
    return tuple((key, properties[key].get("default")) for key in node.get("x-kubernetes-list-map-keys", ()))


def _rules(steps: Steps, node: Schema) -> Iterator[PlacedRule]:
    for rule in node.get("x-kubernetes-validations", ()):
        if "id" in rule:
            yield PlacedRule(steps, rule["id"], rule["message"], "oldSelf" in rule["rule"])
