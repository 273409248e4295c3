"""The part of the simulation's schema that is about YuniKorn."""

from __future__ import annotations

from generators.schemas.parts import COUNT, LACK, TEXT, YES, Schema, list_of, object_of, simulated, texts

_POD: Schema = {"description": "NAMESPACE/NAME, or the placeholders of a gang.", **TEXT}
_AMOUNTS: Schema = {
    "description": "By resource, written as in queues.yaml. Null if no amount is set; then there is no limit.",
    "type": ["object", "null"],
    "additionalProperties": TEXT,
}


def simulation() -> Schema:
    event = object_of(
        {"what": {"enum": ["played", "runs", "preempted", "ended"]}, "at": COUNT},
        {"event": TEXT, "pod": _POD, "application": TEXT, "queue": TEXT, "for": _POD, "forQueue": TEXT},
    )
    running = object_of({"pod": _POD, "application": TEXT, "queue": TEXT, "amounts": _AMOUNTS})
    amounts = dict.fromkeys(("max", "guaranteed", "used", "pending"), _AMOUNTS)
    counts = dict.fromkeys(("applications", "waitingApplications", "maxApplications"), COUNT)
    node = object_of({"path": TEXT, "leaf": YES, "managed": YES, **amounts, **counts})
    about = "YuniKorn's queues and applications; absent if there are no Pods of YuniKorn."
    return simulated(about, event, running, waiting_pod(), node)


def waiting_pod() -> Schema:
    """A Pod, or a gang, that waits."""
    whose = {"description": "The user or group that the limit is for; empty for the max of the queue.", **TEXT}
    return object_of(
        {
            "pod": _POD,
            "application": TEXT,
            "queue": {"description": "Empty if the application is in no queue.", **TEXT},
            **texts("reason", "message"),
            "lacks": list_of(object_of({**LACK, "whose": whose})),
        }
    )
