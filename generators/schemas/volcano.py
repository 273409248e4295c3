"""The part of the simulation's schema that is about Volcano."""

from __future__ import annotations

from generators.schemas.parts import COUNT, LACK, TEXT, Schema, list_of, map_of, object_of, simulated, texts

_AMOUNTS: Schema = {"description": "By resource, written as in a Queue.", **map_of(TEXT)}
_GROUP: Schema = {
    "podGroup": {"description": "NAMESPACE/NAME.", **TEXT},
    "for": {"description": "The Job or the Pod that the PodGroup belongs to, or the PodGroup itself.", **TEXT},
    "queue": TEXT,
}


def simulation() -> Schema:
    event = object_of(
        {"what": {"enum": ["played", "enqueued", "runs", "evicted", "ended"]}, "at": COUNT},
        {"event": TEXT, "name": TEXT, **_GROUP, "pods": list_of(TEXT), "preemptors": list_of(TEXT)},
    )
    holder = object_of({"for": TEXT, "amount": TEXT})
    lack = object_of({**LACK, "limitedBy": TEXT, "usedBy": list_of(holder)})
    pods = {"description": "The number of Pods with this reason; 0 if the PodGroup itself is refused.", **COUNT}
    reason = object_of({"message": TEXT, "pods": pods, "lacks": list_of(lack)})
    waiting = {**_GROUP, "phase": TEXT, "waiting": COUNT, "pods": COUNT, "reasons": list_of(reason)}
    amounts = ("limit", "capability", "deserved", "guarantee", "allocated", "inqueue")
    node = {
        "name": TEXT,
        "parent": {"type": ["string", "null"]},
        "state": TEXT,
        **dict.fromkeys(amounts, _AMOUNTS),
        "podGroups": {"description": "By phase.", **map_of(COUNT)},
    }
    about = "Volcano's queues and PodGroups; absent if there are no PodGroups."
    running = {**_GROUP, "pods": COUNT, "amounts": _AMOUNTS}
    return simulated(about, event, object_of(running), object_of(waiting), object_of(node))


def waiting_pod() -> Schema:
    """A Pod that waits at the gate."""
    return object_of(
        {
            "pod": {"description": "NAMESPACE/NAME.", **TEXT},
            "podGroup": {"description": "NAMESPACE/NAME; empty if the Pod names none.", **TEXT},
            "queue": {"description": "The Queue that the PodGroup names; empty without a PodGroup.", **TEXT},
            **texts("reason", "message"),
            "lacks": list_of(object_of(LACK)),
        }
    )
