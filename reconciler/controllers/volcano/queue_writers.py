"""Finds out from managed fields who wrote a queue: this reconciler, or one of Volcano's own programs.

The state is applied with the field manager of Volcano's controller, so that both controllers may change it. Ours also
applies an empty `reservation`, which Volcano's controller never does. So that field shows which of the two applied the
state last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from policies.dialects.reading import Manifest, listing, mapping, metadata, text
from policies.dialects.volcano_programs import VC_CONTROLLER, VC_SCHEDULER

FIELD_MANAGER = "quotree-volcano-queues"
STATE_MANAGER = "queue-controller"
OUR_FIELD = "reservation"
AMOUNTS = ("capability", "deserved")
"""The fields of root's spec that are set from the Nodes."""


@dataclass(frozen=True, slots=True)
class QueueWriters:
    """When each writer wrote the queue last, as the API server writes times; empty for never.

    `ours`: this reconciler.
    `controller`: Volcano's controller.
    `scheduler`: Volcano's scheduler; empty if another writer has changed `status.allocated` since.
    `holds_state`: whether `status.state` belongs to a patch of an earlier version of this reconciler.
    `amounts`: the fields of the spec that others have set, each with one of their field managers.
    """

    ours: str = ""
    controller: str = ""
    scheduler: str = ""
    holds_state: bool = False
    amounts: Mapping[str, str] = field(default_factory=dict)


def read_queue_writers(manifest: Manifest) -> QueueWriters:
    ours, controller, scheduler, holds_state = "", "", "", False
    amounts: dict[str, str] = {}
    for entry in map(mapping, listing(metadata(manifest).get("managedFields"))):
        manager, status = entry.get("manager"), mapping(mapping(entry.get("fieldsV1")).get("f:status"))
        at = text(entry.get("time")) or ""
        if manager != FIELD_MANAGER:
            spec = mapping(mapping(entry.get("fieldsV1")).get("f:spec"))
            amounts.update({name: str(manager) for name in AMOUNTS if spec.get(f"f:{name}")})
        if manager == FIELD_MANAGER:
            ours = max(ours, at)
            holds_state = holds_state or "f:state" in status
        elif manager == STATE_MANAGER and f"f:{OUR_FIELD}" in status:
            ours = max(ours, at)
        elif manager in (STATE_MANAGER, VC_CONTROLLER):
            controller = max(controller, at)
        elif manager == VC_SCHEDULER and "f:allocated" in status:
            scheduler = max(scheduler, at)
    return QueueWriters(ours, controller, scheduler, holds_state, amounts)
