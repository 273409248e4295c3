"""Reads manifests into the objects that decisions need. Unreadable values count as absent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from policies.amounts.requests import pod_requests
from policies.dialects.go_values import TRUE, read_integer
from policies.dialects.node_reading import node_reading
from policies.dialects.pod_reading import SUCCEEDED, PodReading, pod_reading
from policies.dialects.reading import Manifest, ManifestReader, integer, listing, mapping, metadata, text, texts
from policies.dialects.volcano_gates import task_of
from policies.dialects.volcano_node_groups import LIMITS, BadNodeGroupLimits, node_group_affinity, node_group_limits
from policies.model.quantity import Quantity
from scheduling.objects import times
from scheduling.objects.amounts import add_to
from scheduling.queue_tree.amounts import Amounts
from scheduling.topology.node_filter import node_filter
from scheduling.volcano.objects import Devices, Machine, PodGroup, Status, Task, VolcanoQueueSettings
from scheduling.volcano.resources import PODS, counted

PREEMPTABLE = "volcano.sh/preemptable"
"""The annotation or label of a Pod that may be evicted. A Job's own counts for all its Pods."""
_PRIORITY = "volcano.sh/task-priority"
"""The annotation with the priority of a Pod among the Pods of its PodGroup."""
_DEVICES = "deviceclass/"


def read_queue(manifest: Manifest) -> VolcanoQueueSettings:
    """Read a Queue. Without a state it counts as open, as everywhere in Quotree."""
    spec = mapping(manifest.get("spec"))
    capability = _amounts(spec.get("capability"))
    return VolcanoQueueSettings(
        name=_name(manifest),
        parent=text(spec.get("parent")) or "root",
        priority=integer(spec.get("priority")) or 0,
        weight=integer(spec.get("weight")) or 1,
        reclaimable=spec.get("reclaimable") is not False,
        state=text(mapping(manifest.get("status")).get("state")) or "Open",
        capability=counted(capability) if capability else None,
        deserved=counted(_amounts(spec.get("deserved"))),
        guarantee=counted(_amounts(mapping(spec.get("guarantee")).get("resource"))),
        devices={
            name: amount.units() if name.startswith(_DEVICES) else amount.nano
            for name, amount in capability.items()
            if name.startswith(_DEVICES) or f".{_DEVICES}" in name
        },
        affinity=node_group_affinity(spec.get("affinity")),
        group_limits=_group_limits(texts(metadata(manifest).get("annotations")).get(LIMITS)),
        created=_created(manifest),
    )


def read_pod_group(manifest: Manifest, priorities: Mapping[str, int]) -> PodGroup:
    """Read a PodGroup. `priorities`: see `read_priorities`."""
    spec = mapping(manifest.get("spec"))
    minimum = spec.get("minResources")
    members = mapping(spec.get("minTaskMember"))
    return PodGroup(
        name=_key(manifest),
        queue=text(spec.get("queue")) or "default",
        phase=text(mapping(manifest.get("status")).get("phase")) or "Pending",
        members=integer(spec.get("minMember")) or 0,
        members_of={role: count for role, value in members.items() if (count := integer(value)) is not None},
        minimum=counted(_amounts(minimum)) if minimum is not None else None,
        priority=priority_of(text(spec.get("priorityClassName")) or "", priorities),
        created=_created(manifest),
    )


def read_task(pod: Manifest, group: str, claims: Mapping[str, Devices]) -> Task:
    """Read a Pod. `claims`: the devices of ResourceClaims, by `<namespace>/<name>`."""
    read = pod_reading(pod)
    spec = read.spec
    request = counted(pod_requests(spec))
    return Task(
        name=_key(pod),
        group=group,
        request={**request, PODS: request.get(PODS, 0) + 1},
        status=_status(read),
        node=read.node,
        nominated=text(read.status.get("nominatedNodeName")) or "",
        priority=_priority(read),
        priority_class=text(spec.get("priorityClassName")) or "",
        preemptable=is_preemptable(read),
        never_preempts=spec.get("preemptionPolicy") == "Never",
        gated=bool(read.gates),
        role=task_of(read.annotations, read.labels),
        claims={name: claims[name] for name in _claimed(pod) if name in claims},
        placement=node_filter(spec),
        created=_created(pod),
    )


def read_machine(manifest: Manifest) -> Machine:
    read = node_reading(manifest)
    return Machine(read.name, counted(read.allocatable), read.labels, read.taints, read.unschedulable)


def read_claim(manifest: Manifest) -> tuple[str, Devices]:
    """The name of a ResourceClaim and the devices that it requests: counts and capacities by class."""
    devices: dict[str, int] = {}
    for request in map(mapping, listing(mapping(mapping(manifest.get("spec")).get("devices")).get("requests"))):
        exactly = mapping(request.get("exactly")) or request
        device_class = text(exactly.get("deviceClassName"))
        if not device_class:
            continue
        count = integer(exactly.get("count")) or 1
        add_to(devices, {_DEVICES + device_class: count})
        capacity = mapping(mapping(exactly.get("capacity")).get("requests"))
        for dimension, amount in _amounts(capacity).items():
            add_to(devices, {f"{dimension}.{_DEVICES}{device_class}": amount.nano * count})
    return _key(manifest), devices


def is_preemptable(pod: PodReading) -> bool:
    """Whether the Pod may be evicted. Its annotation precedes its label, and other values than booleans mean no."""
    return {**pod.labels, **pod.annotations}.get(PREEMPTABLE, "true") in TRUE


class ClassPriority(NamedTuple):
    """The fields of a PriorityClass. `is_default`: work that names no existing class has its value."""

    value: int
    is_default: bool


def read_priority_class(manifest: Manifest) -> ClassPriority:
    return ClassPriority(integer(manifest.get("value")) or 0, manifest.get("globalDefault") is True)


def read_priorities(classes: Iterable[Manifest]) -> dict[str, int]:
    """See `values_of`."""
    return values_of({_name(manifest): read_priority_class(manifest) for manifest in classes})


def values_of(classes: Mapping[str, ClassPriority]) -> dict[str, int]:
    """The values of PriorityClasses by name. The empty name stands for the global default."""
    values = {name: each.value for name, each in classes.items()}
    if defaults := [each.value for each in classes.values() if each.is_default]:
        values[""] = min(defaults)  # of several the lowest counts, as in the API server
    return values


def priority_of(name: str, priorities: Mapping[str, int]) -> int:
    """The value of the PriorityClass. Without the class it is that of the global default, else 0."""
    return priorities.get(name, priorities.get("", 0))


def _group_limits(written: str | None) -> Mapping[str, Amounts] | None:
    try:
        return {group: counted(amounts) for group, amounts in node_group_limits(written).items()}
    except BadNodeGroupLimits:
        return None


def _priority(pod: PodReading) -> int:
    """The priority of the Pod: that of its annotation if it is an integer with 32 bits, else that of its spec."""
    annotated = read_integer(pod.annotations.get(_PRIORITY, ""), 32)
    return annotated if annotated is not None else integer(pod.spec.get("priority")) or 0


def _status(pod: PodReading) -> Status:
    if pod.phase == SUCCEEDED:
        return Status.FINISHED
    if pod.deleting or pod.failed:
        return Status.RELEASING
    if pod.phase == "Running":
        return Status.RUNNING
    return Status.ALLOCATED if pod.bound else Status.PENDING


def _claimed(pod: Manifest) -> Iterator[str]:
    """The ResourceClaims of the Pod. Its status names those that were made from a template."""
    made = listing(mapping(pod.get("status")).get("resourceClaimStatuses"))
    names = {text(mapping(entry).get("name")): text(mapping(entry).get("resourceClaimName")) for entry in made}
    for entry in map(mapping, listing(mapping(pod.get("spec")).get("resourceClaims"))):
        name = text(entry.get("resourceClaimName")) or names.get(text(entry.get("name")))
        if name:
            yield f"{_namespace(pod)}/{name}"


def _amounts(value: object) -> dict[str, Quantity]:
    return ManifestReader({}).amounts(value, "")


def _name(manifest: Manifest) -> str:
    return text(metadata(manifest).get("name")) or ""


def _namespace(manifest: Manifest) -> str:
    return text(metadata(manifest).get("namespace")) or "default"


def _key(manifest: Manifest) -> str:
    return f"{_namespace(manifest)}/{_name(manifest)}"


def _created(manifest: Manifest) -> int:
    return times.parse(metadata(manifest).get("creationTimestamp"))
