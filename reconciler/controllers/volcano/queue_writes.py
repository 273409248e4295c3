"""The writes of a Volcano queue: its status, and its annotations, finalizer and parent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cluster.actions import Apply, Delete, Patch
from policies.dialects.reading import mapping
from policies.dialects.volcano import BROKEN_SUMS
from policies.model.quantity import BadQuantity, Quantity
from policies.mutation.patching import merge_patch
from reconciler.controllers.volcano.kinds import COMMANDS, QUEUES
from reconciler.controllers.volcano.queue_writers import FIELD_MANAGER, OUR_FIELD, STATE_MANAGER
from reconciler.objects.observed import Observed
from reconciler.objects.stored import Stored
from scheduling.volcano_queues.queue_object import CLOSED_BY_PARENT, FINALIZER, OPERATION, QueueObject
from scheduling.volcano_queues.states import VolcanoQueueState
from scheduling.volcano_queues.tree import Sums
from scheduling.volcano_queues.vcctl import PHASES

_BINARY = ("memory", "ephemeral-storage", "hugepages-")


def metadata_patch(
    queue: QueueObject, stored: Stored, *, closed_by_parent: bool, guarded: bool, root: bool, broken: str | None = None
) -> Patch | None:
    """The patch of the annotations, the finalizer and the parent; None if nothing has to change.

    `closed_by_parent`: whether the queue is marked as closed with its parent.
    `guarded`: whether the queue should have our finalizer.
    `root`: whether a queue without a parent should name root as its parent.
    `broken`: why the whole tree is stopped; empty if it is not; None leaves the annotation as it is.
    """
    notes: dict[str, str | None] = {}
    if closed_by_parent != queue.closed_by_parent:
        notes[CLOSED_BY_PARENT] = str(closed_by_parent).lower()
    if broken is not None and broken != stored.annotations.get(BROKEN_SUMS, ""):
        notes[BROKEN_SUMS] = broken or None
    meta: dict[str, Any] = {"annotations": notes} if notes else {}
    if guarded != queue.guarded:
        others = [each for each in stored.finalizers if each != FINALIZER]
        meta["finalizers"] = [*others, FINALIZER] if guarded else others or None
    body: dict[str, Any] = {"metadata": meta} if meta else {}
    if root and not queue.parent:
        body["spec"] = {"parent": "root"}
    return patch(queue.name, body, stored.version) if body else None


def state_patch(queue: QueueObject, stored: Stored, state: VolcanoQueueState, *, holds_state: bool) -> Apply | None:
    """The write of the state. It uses the field manager of Volcano's controller, which may change the state afterwards.

    `holds_state`: see QueueWriters. If set, the write gives up that ownership.
    """
    if state.value == stored.status.get("state") and not holds_state:
        return None
    status = {"state": state.value}
    applied = {"apiVersion": f"{QUEUES.group}/{QUEUES.version}", "kind": "Queue", "status": {**status, OUR_FIELD: {}}}
    body = {"status": status}
    return Apply(
        QUEUES, None, queue.name, body, stored.version, STATE_MANAGER, "status", applied=applied, ends=FIELD_MANAGER
    )


def counts_patch(queue: QueueObject, stored: Stored, sums: Sums, *, allocates: bool) -> Patch | None:
    """The patch of the counts, and of the allocation unless another process `allocates`.

    Both are sums over the whole subtree. Zero equals a missing value, because Volcano's programs write some zeros and
    leave others out.
    """
    before = {key: value for key, value in stored.status.items() if key in _WRITTEN}
    counts = {phase.lower(): sums["phase", phase] for phase in PHASES}
    after = {**before, **{key: count or None for key, count in counts.items() if count != (before.get(key) or 0)}}
    if not allocates:
        held = mapping(before.get("allocated"))
        allocated = _allocated(held, sums)
        after["allocated"] = allocated if allocated or held else before.get("allocated")
    body = merge_patch(before, {key: value for key, value in after.items() if value is not None})
    return patch(queue.name, {"status": body}, stored.version, "status") if body else None


def record_patch(name: str, stored: Stored, text: str | None) -> Patch:
    """The patch that stores the record of an operation; None removes it."""
    return patch(name, {"metadata": {"annotations": {OPERATION: text}}}, stored.version)


def parent_patch(name: str, stored: Stored, parent: str) -> Patch:
    return patch(name, {"spec": {"parent": parent}}, stored.version)


def patch(name: str, body: Mapping[str, Any], version: str, subresource: str | None = None) -> Patch:
    return Patch(QUEUES, None, name, body, version, FIELD_MANAGER, subresource)


def delete_command(command: Observed[object]) -> Delete:
    return Delete(COMMANDS, command.namespace, command.name, resource_version=command.version)


def _allocated(before: Mapping[str, Any], sums: Mapping[tuple[str, str], int]) -> dict[str, Any]:
    """The allocation by resource. An amount that has not changed keeps the text in which it was written."""
    found = {resource: text for resource, text in before.items() if _nano(text) == 0}
    for (what, resource), nano in sorted(sums.items()):
        if what == "amount" and (nano or resource in before):
            same = resource in before and _nano(before[resource]) == nano
            found[resource] = before[resource] if same else str(quantity(resource, nano))
    return found


def quantity(resource: str, nano: int) -> Quantity:
    """The amount in the notation that Kubernetes uses for the resource."""
    return Quantity.of_nano(nano, "BinarySI" if resource.startswith(_BINARY) else "DecimalSI")


def _nano(value: object) -> int | None:
    try:
        return Quantity.parse(value).nano
    except BadQuantity:
        return None


_WRITTEN = frozenset(["allocated", *(phase.lower() for phase in PHASES)])
