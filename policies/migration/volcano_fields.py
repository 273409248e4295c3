"""Lists the fields of a Volcano queue for which Kueue's objects have no field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from policies.dialects.reading import Manifest, mapping
from policies.dialects.volcano import HIERARCHY, Queue
from policies.dialects.volcano_resources import is_counted, limits
from policies.migration.model import NotKept
from policies.model import fields

_DEVICES = "deviceclass/"


def lost_fields(queue: Queue, written: Manifest) -> Iterator[NotKept]:
    """An entry for each such field with a value other than its default."""
    name = f"Queue {queue.name}"
    for defect in queue.defects:
        yield NotKept(name, defect.field, defect.message, "correct it, then migrate again")
    for field, why, instead in (*_of_spec(queue, written), *_of_amounts(queue)):
        yield NotKept(name, field, why, instead)


def _of_spec(queue: Queue, written: Manifest) -> Iterator[tuple[str, str, str]]:
    spec = mapping(written.get("spec"))
    if spec.get("priority"):
        yield "spec.priority", "Kueue does not order queues", "give their jobs a WorkloadPriorityClass"
    if spec.get("reclaimable") is False and queue.name != "root":
        why = "Kueue preempts work that borrows when the lender reclaims"
        instead = "set borrowingLimit to 0: a queue that never borrows is never preempted for another"
        yield "spec.reclaimable", why, instead
    if spec.get("weight") not in (None, 0, 1) and queue.name != "root":
        why = "it becomes fairSharing.weight, which counts between queues that borrow, not for what is deserved"
        yield "spec.weight", why, "enable fairSharing in Kueue's Configuration, or write nominalQuota by hand"
    if spec.get("affinity"):
        why = "groups of nodes are flavors in Kueue"
        yield "spec.affinity", why, "make a ResourceFlavor for each group, by its node labels, and divide the quota"
    if spec.get("extendClusters"):
        yield "spec.extendClusters", "other clusters are MultiKueue's", "make an AdmissionCheck with a MultiKueueConfig"
    if spec.get("dequeueStrategy") == "fifo":
        why = "Volcano's scheduler does not act on it, so BestEffortFIFO keeps what happens"
        yield "spec.dequeueStrategy", why, "set queueingStrategy to StrictFIFO if you want it"
    if queue.hierarchy or queue.hierarchy_weights:
        why = "the tree of hierarchical DRF is apart from spec.parent, which is migrated"
        yield fields.join("metadata.annotations", HIERARCHY), why, "write its weights as fairSharing.weight"


def _of_amounts(queue: Queue) -> Iterator[tuple[str, str, str]]:
    if queue.name == "root" and (queue.deserved or queue.guarantee):
        yield "spec", "Volcano does not read what root deserves or is guaranteed", "nothing: it had no effect"
    for field, amounts in (
        ("spec.guarantee.resource", queue.guarantee),
        ("spec.deserved", queue.deserved),
        ("spec.capability", queue.capability),
    ):
        for resource, (why, instead) in uncounted_resources(amounts):
            yield fields.join(field, resource), why, instead
        if field == "spec.capability":
            for resource, amount in amounts.items():
                if not limits(resource, amount.nano) and queue.name != "root":
                    instead = "set borrowingLimit to 0 to keep work out"
                    yield fields.join(field, resource), "Volcano reads 0 as no limit", instead


def uncounted_resources(resources: Iterable[str]) -> Iterator[tuple[str, tuple[str, str]]]:
    """The resources that Volcano does not count, or that Kueue cannot count, each with the reason and what to do."""
    for resource in resources:
        if resource == "pods":
            why = "Volcano does not limit the number of pods"
            yield resource, (why, "add `pods` to every ClusterQueue to limit it")
        elif _DEVICES in resource:
            instead = "name a resource for the DeviceClass in deviceClassMappings of Kueue's Configuration"
            yield resource, ("Kueue counts devices by a resource of your own", instead)
        elif not is_counted(resource):
            yield resource, ("Volcano does not count it", "use the full name of the resource")
