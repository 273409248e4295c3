"""The part of the simulation's schema that is about Volcano."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_YES: Schema = {"type": "boolean"}
_AMOUNTS: Schema = {
    "description": "By resource, written as in a Queue.",
    "type": "object",
    "additionalProperties": _TEXT,
}
_GROUP: Schema = {
    "podGroup": {"description": "NAMESPACE/NAME.", **_TEXT},
    "for": {"description": "The Job or the Pod that the PodGroup was made for, or itself.", **_TEXT},
    "queue": _TEXT,
}


def volcano(object_of: Callable[..., Schema]) -> Schema:
    """`object_of` makes the schema of an object of its required and its optional fields."""
    event = object_of(
        {"what": {"enum": ["played", "enqueued", "runs", "evicted", "ended"]}, "at": _COUNT},
        {"event": _TEXT, "name": _TEXT, **_GROUP, "pods": _list(_TEXT), "preemptors": _list(_TEXT)},
    )
    lacking = ("queue", "resource", "asked", "used", "limit", "short", "limitedBy")
    holder = object_of({"for": _TEXT, "amount": _TEXT})
    lack = object_of({**dict.fromkeys(lacking, _TEXT), "usedBy": _list(holder)})
    pods = {"description": "So many Pods are refused for it; 0: the PodGroup itself is.", **_COUNT}
    reason = object_of({"message": _TEXT, "pods": pods, "lacks": _list(lack)})
    waiting = {**_GROUP, "phase": _TEXT, "waiting": _COUNT, "pods": _COUNT, "reasons": _list(reason)}
    words = ("limit", "capability", "deserved", "guarantee", "allocated", "inqueue")
    node = {
        "name": _TEXT,
        "parent": {"type": ["string", "null"]},
        "state": _TEXT,
        **dict.fromkeys(words, _AMOUNTS),
        "podGroups": {"description": "By phase.", "type": "object", "additionalProperties": _COUNT},
    }
    fields = {
        "settled": _YES,
        "assumptions": _list(_TEXT),
        "happened": _list(event),
        "running": _list(object_of({**_GROUP, "pods": _COUNT, "amounts": _AMOUNTS})),
        "waiting": _list(object_of(waiting)),
        "queues": _list(object_of(node)),
    }
    about = "Volcano's queues and PodGroups; absent where there are no PodGroups."
    return {"description": about, **object_of(fields)}


def waiting_pod(object_of: Callable[..., Schema]) -> Schema:
    """A Pod that waits at the gate."""
    words = ("queue", "resource", "asked", "used", "limit", "short")
    fields = {
        "pod": {"description": "NAMESPACE/NAME.", **_TEXT},
        "podGroup": {"description": "NAMESPACE/NAME; empty where the Pod names none.", **_TEXT},
        "queue": {"description": "The Queue that the PodGroup names; empty without a PodGroup.", **_TEXT},
        "reason": _TEXT,
        "message": _TEXT,
        "lacks": _list(object_of(dict.fromkeys(words, _TEXT))),
    }
    return object_of(fields)


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}
