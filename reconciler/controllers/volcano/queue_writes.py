"""The writes of a Volcano queue: its status, and our fields in its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cluster.actions import Delete, Patch
from policies.model.quantity import BadQuantity, Quantity
from reconciler.controllers.volcano.kinds import COMMANDS, QUEUES
from reconciler.objects.observed import Observed
from reconciler.objects.patches import differences
from reconciler.objects.stored import Stored
from scheduling.volcano_queues.queue_object import CLOSED_BY_PARENT, FINALIZER, OPERATION, QueueObject
from scheduling.volcano_queues.states import VolcanoQueueState
from scheduling.volcano_queues.tree import Sums
from scheduling.volcano_queues.vcctl import PHASES

FIELD_MANAGER = "quotree-volcano-queues"
_BINARY = ("memory", "ephemeral-storage", "hugepages-")


def metadata_patch(
    queue: QueueObject, stored: Stored, *, closed_by_parent: bool, guarded: bool, root: bool
) -> Patch | None:
    """The patch of its annotation, its finalizer and its parent; None if nothing has to change.

    `root`: the queue belongs below root, which it has to name if it names no parent.
    `guarded`: it has our finalizer.
    """
    meta: dict[str, Any] = {}
    if closed_by_parent != queue.closed_by_parent:
        meta["annotations"] = {CLOSED_BY_PARENT: str(closed_by_parent).lower()}
    if guarded != queue.guarded:
        others = [each for each in stored.finalizers if each != FINALIZER]
        meta["finalizers"] = [*others, FINALIZER] if guarded else others or None
    body: dict[str, Any] = {"metadata": meta} if meta else {}
    if root and not queue.parent:
        body["spec"] = {"parent": "root"}
    return patch(queue.name, body, stored.version) if body else None


def status_patch(
    queue: QueueObject, stored: Stored, state: VolcanoQueueState, sums: Sums, *, allocates: bool
) -> Patch | None:
    """The patch of its state and its counts, and of its allocation unless another process `allocates`.

    Counts and allocation are those of the whole subtree.
    """
    before = {key: value for key, value in stored.status.items() if key in _WRITTEN}
    after = {**before, "state": state.value, **{phase.lower(): sums["phase", phase] for phase in PHASES}}
    held = before.get("allocated")
    if held is None or not allocates:
        after["allocated"] = _allocated(held if isinstance(held, Mapping) else {}, {} if allocates else sums)
    body = differences(before, after)
    return patch(queue.name, {"status": body}, stored.version, "status") if body else None


def record_patch(name: str, stored: Stored, text: str | None) -> Patch:
    """The patch that stores the record of an operation; None removes it."""
    return patch(name, {"metadata": {"annotations": {OPERATION: text}}}, stored.version)


def parent_patch(name: str, stored: Stored, parent: str) -> Patch:
    return patch(name, {"spec": {"parent": parent}}, stored.version)


def patch(name: str, body: Mapping[str, Any], version: str, subresource: str | None = None) -> Patch:
    return Patch(QUEUES, None, name, body, version, FIELD_MANAGER, subresource)


def command_gone(command: Observed[object]) -> Delete:
    return Delete(COMMANDS, command.namespace, command.name, resource_version=command.version)


def _allocated(before: Mapping[str, Any], sums: Mapping[tuple[str, str], int]) -> dict[str, Any]:
    """Amounts by resource. An amount that has not changed keeps the text that another client wrote."""
    found = {}
    for (what, resource), nano in sorted(sums.items()):
        if what == "amount":
            same = resource in before and _nano(before[resource]) == nano
            found[resource] = before[resource] if same else str(quantity(resource, nano))
    return found


def quantity(resource: str, nano: int) -> Quantity:
    """The amount as Kubernetes writes one of the resource."""
    return Quantity.of_nano(nano, "BinarySI" if resource.startswith(_BINARY) else "DecimalSI")


def _nano(value: object) -> int | None:
    try:
        return Quantity.parse(value).nano
    except BadQuantity:
        return None


_WRITTEN = frozenset(["state", "allocated", *(phase.lower() for phase in PHASES)])
