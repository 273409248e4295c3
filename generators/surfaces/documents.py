"""The records of fields: in the JSON that commands print, in custom resources, and in the values of the chart."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from generators import crds
from generators.chart.options import schema as chart_schema
from generators.files import ROOT

_SAME = ("oneOf", "anyOf", "allOf")


def reports() -> Iterator[str]:
    """The fields in JSON outputs, such as `report .findings[].rule string, always`: schema, field and type."""
    for file in sorted((ROOT / "docs/schemas").glob("*.schema.json")):
        schema = json.loads(file.read_text(encoding="utf-8"))
        yield from _fields(schema, schema, f"{file.name.removesuffix('.schema.json')} ")


def custom_resources() -> Iterator[str]:
    """The fields of each version of each kind that Quotree installs."""
    for path, (_, crd) in crds.definitions().items():
        name = path.rpartition("/")[2].removesuffix(".yaml")
        for version in crd["spec"]["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            yield from _fields(schema, schema, f"{name}/{version['name']} ")


def chart() -> Iterator[str]:
    yield from _fields(chart_schema(), chart_schema(), "chart ")


def _fields(schema: Any, whole: Mapping[str, Any], at: str, above: tuple[str, ...] = ()) -> Iterator[str]:
    """The fields of a schema. `above`: the references that lead to it, so that a recursive part is listed only once."""
    if not isinstance(schema, Mapping):
        return
    if (reference := schema.get("$ref")) is not None:
        if reference not in above:
            yield from _fields(_part(reference, whole), whole, at, (*above, reference))
        return
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        here = f"{at}.{name}"
        yield f"{here} {_type(field, whole)}{', always' if name in required else ''}"
        yield from (f"{here} = {json.dumps(value)}" for value in _values(field))
        yield from _fields(field, whole, here, above)
    yield from _fields(schema.get("items"), whole, f"{at}[]", above)
    yield from _fields(schema.get("additionalProperties"), whole, f"{at}.*", above)
    for key in _SAME:
        for part in schema.get(key, ()):
            yield from _fields(part, whole, at, above)


def _type(field: Any, whole: Mapping[str, Any]) -> str:
    if not isinstance(field, Mapping):
        return "any"
    while "$ref" in field:
        field = _part(field["$ref"], whole)
    named = field.get("type", "any")
    return named if isinstance(named, str) else " or ".join(named)


def _values(field: Any) -> Iterator[Any]:
    if isinstance(field, Mapping):
        yield from field.get("enum", ())


def _part(reference: str, whole: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Any = whole
    for key in reference.removeprefix("#/").split("/"):
        found = found[key]
    part: Mapping[str, Any] = found
    return part
