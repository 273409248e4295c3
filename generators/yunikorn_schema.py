"""The part of the simulation's schema that is about YuniKorn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_YES: Schema = {"type": "boolean"}
_POD: Schema = {"description": "NAMESPACE/NAME, or the placeholders of a gang.", **_TEXT}
_AMOUNTS: Schema = {
    "description": "By resource, written as in queues.yaml; null where there are none at all, which is no limit.",
    "type": ["object", "null"],
    "additionalProperties": _TEXT,
}


def yunikorn(object_of: Callable[..., Schema]) -> Schema:
    """`object_of` makes the schema of an object of its required and its optional fields."""
    pod = _POD
    event = object_of(
        {"what": {"enum": ["played", "runs", "preempted", "ended"]}, "at": _COUNT},
        {"event": _TEXT, "pod": pod, "application": _TEXT, "queue": _TEXT, "for": pod, "forQueue": _TEXT},
    )
    amounts = dict.fromkeys(("max", "guaranteed", "used", "pending"), _AMOUNTS)
    counts = dict.fromkeys(("applications", "waitingApplications", "maxApplications"), _COUNT)
    node = {"path": _TEXT, "leaf": _YES, "managed": _YES, **amounts, **counts}
    fields = {
        "settled": _YES,
        "assumptions": _list(_TEXT),
        "happened": _list(event),
        "running": _list(object_of({"pod": pod, "application": _TEXT, "queue": _TEXT, "amounts": _AMOUNTS})),
        "waiting": _list(waiting(object_of)),
        "queues": _list(object_of(node)),
    }
    about = "YuniKorn's queues and applications; absent where there are no Pods of YuniKorn."
    return {"description": about, **object_of(fields)}


def waiting(object_of: Callable[..., Schema]) -> Schema:
    """One that waits."""
    whose = {"description": "The user or group whose limit it is; empty for the max of the queue.", **_TEXT}
    words = ("queue", "resource", "asked", "used", "limit", "short")
    fields = {
        "pod": _POD,
        "application": _TEXT,
        "queue": {"description": "Empty where the application is in none.", **_TEXT},
        "reason": _TEXT,
        "message": _TEXT,
        "lacks": _list(object_of({**dict.fromkeys(words, _TEXT), "whose": whose})),
    }
    return object_of(fields)


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}
