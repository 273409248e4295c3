"""Pieces of JSON Schemas."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
YES: Schema = {"type": "boolean"}


def object_of(required: Schema, optional: Schema | None = None) -> Schema:
    """An object with these fields and no others."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": {**required, **(optional or {})},
    }


def list_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def map_of(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def texts(*names: str) -> Schema:
    """Fields with texts as values."""
    return dict.fromkeys(names, TEXT)


LACK = texts("queue", "resource", "asked", "used", "limit", "short")
"""A shortage of quota in a queue of Volcano or YuniKorn."""


def simulated(about: str, happened: Schema, running: Schema, waiting: Schema, queues: Schema) -> Schema:
    """The part of the simulation about a dialect's queues. The arguments are the schemas of the lists' items."""
    items = {"assumptions": TEXT, "happened": happened, "running": running, "waiting": waiting, "queues": queues}
    fields = {"settled": YES, **{name: list_of(item) for name, item in items.items()}}
    return {"description": about, **object_of(fields)}
