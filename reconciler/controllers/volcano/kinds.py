"""The watched kinds that the management of Volcano's queues depends on, with the fields that are kept of each."""

from __future__ import annotations

from dataclasses import dataclass

from cluster.lease import LeaseClaim
from cluster.resource import LEASES, NODES, PODS, Manifest, Resource
from policies.amounts.requests import pod_requests
from policies.dialects.core import POD
from policies.dialects.node_reading import node_reading
from policies.dialects.reading import mapping, metadata, text, texts
from policies.dialects.volcano import GROUP
from policies.dialects.volcano_gates import group_of
from policies.dialects.volcano_programs import program_of
from reconciler.controllers.volcano import MANAGER_LEASE, SCHEDULER_LEASE
from reconciler.controllers.volcano.queue_writers import QueueWriters, read_queue_writers
from reconciler.objects.stored import read_stored
from reconciler.objects.watched import WatchedKind
from scheduling.objects.times import parse
from scheduling.volcano_queues.queue_object import OPERATION, QueueObject, read_queue_object

BUS = "bus.volcano.sh"
QUEUES = Resource(GROUP, "v1beta1", "queues", namespaced=False, owners=True)
COMMANDS = Resource(BUS, "v1alpha1", "commands", namespaced=True)


@dataclass(frozen=True, slots=True)
class CommandObject:
    """A Command to a queue.

    `queue`: the queue; empty if the Command is for another kind, or is being deleted, because it is executed by then.
    `uid`: the uid of the queue.
    `action`: what the Command requests.
    `created`: nanoseconds.
    `step`: whether the Command is a step of an operation. The operation is recorded on the queue or an ancestor.
    """

    queue: str
    uid: str
    action: str
    created: int
    step: bool = False


@dataclass(frozen=True, slots=True)
class BoundPod:
    """A Pod that is bound to a Node.

    `group`: its PodGroup; empty for none.
    `requests`: its requests, in units of 1e-9.
    """

    group: str
    requests: tuple[tuple[str, int], ...]


def _pod_group(manifest: Manifest) -> tuple[str, str]:
    """The queue and the phase of a PodGroup."""
    queue = text(mapping(manifest.get("spec")).get("queue")) or "default"
    return queue, text(mapping(manifest.get("status")).get("phase")) or ""


def _command(manifest: Manifest) -> CommandObject:
    target = mapping(manifest.get("target"))
    meta = metadata(manifest)
    of_queue = target.get("kind") == "Queue" and str(target.get("apiVersion")).startswith(f"{GROUP}/")
    counts = of_queue and not meta.get("deletionTimestamp")
    return CommandObject(
        (text(target.get("name")) or "") if counts else "",
        text(target.get("uid")) or "",
        text(manifest.get("action")) or "",
        parse(meta.get("creationTimestamp")),
        OPERATION in texts(meta.get("annotations")),
    )


def _bound_pod(manifest: Manifest) -> BoundPod:
    group = group_of(manifest)
    if not group:
        return BoundPod("", ())
    requests = pod_requests(mapping(manifest.get("spec")))
    amounts = tuple((resource, quantity.nano) for resource, quantity in sorted(requests.items()))
    return BoundPod(group, amounts)


def _node_amounts(manifest: Manifest) -> tuple[tuple[str, int], ...] | None:
    """The amounts that a ready Node offers to Pods, in units of 1e-9."""
    node = node_reading(manifest)
    amounts = tuple((resource, amount.nano) for resource, amount in sorted(node.allocatable.items()) if amount.nano)
    return amounts or None if node.ready else None


QUEUE: WatchedKind[QueueObject] = WatchedKind("Queue", QUEUES, read_queue_object, detail=read_stored, relist=True)
WRITERS: WatchedKind[QueueWriters] = WatchedKind(
    "QueueWriters", QUEUES, read_queue_writers, relist=True, object_kind=QUEUE.kind
)
COMMAND: WatchedKind[CommandObject] = WatchedKind("Command", COMMANDS, _command, relist=True)
POD_GROUP: WatchedKind[tuple[str, str]] = WatchedKind(
    "PodGroup", Resource(GROUP, "v1beta1", "podgroups", True), _pod_group, relist=True
)
BOUND_POD: WatchedKind[BoundPod] = WatchedKind(
    "BoundPod",
    PODS,
    _bound_pod,
    field_selector="spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed",
    object_kind=POD.kind,
)
PROGRAM: WatchedKind[str] = WatchedKind(
    "VolcanoProgram", PODS, program_of, field_selector=BOUND_POD.field_selector, object_kind=POD.kind
)
MANAGER: WatchedKind[LeaseClaim] = WatchedKind(
    "VolcanoManager", LEASES, LeaseClaim.of, field_selector=f"metadata.name={MANAGER_LEASE}"
)
SCHEDULER: WatchedKind[LeaseClaim] = WatchedKind(
    "VolcanoScheduler", LEASES, LeaseClaim.of, field_selector=f"metadata.name={SCHEDULER_LEASE}"
)
NODE_AMOUNTS: WatchedKind[tuple[tuple[str, int], ...]] = WatchedKind(
    "NodeAmounts", NODES, _node_amounts, object_kind="Node"
)
WATCHED = (QUEUE, WRITERS, POD_GROUP, COMMAND, BOUND_POD, PROGRAM, MANAGER, SCHEDULER)
