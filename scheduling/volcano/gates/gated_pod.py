"""The objects that decide at the gate: the Pod that waits or has passed, its PodGroup, and the Queue."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from policies.amounts.allocated import pod_allocated
from policies.dialects.pod_reading import PodReading, pod_reading
from policies.dialects.quota_gates import ADMITTED, QUOTA_KEY, WAITS
from policies.dialects.reading import Manifest, ManifestReader, integer, listing, mapping, metadata, text
from policies.dialects.volcano_gates import TOGETHER, VOLCANO, group_in, task_of
from policies.model.objects import joined
from scheduling.objects import times
from scheduling.queue_tree.pod_at_gate import PodAtGate
from scheduling.volcano.objects import PodGroup, VolcanoQueueSettings
from scheduling.volcano.plugins import CRITICAL, SYSTEM
from scheduling.volcano.reading import is_preemptable, read_pod_group, read_queue
from scheduling.volcano.resources import counted, limited_resources

_DIGITS = 10
_OF_CLASS = "deviceclass.resource.kubernetes.io/"
_COUNTED = ("spec.capability", "spec.deserved", "spec.guarantee", "spec.parent")


class Need(NamedTuple):
    """Requested amounts, sorted by resource. `claims`: whether ResourceClaims request devices as well."""

    amounts: tuple[tuple[str, int], ...]
    claims: bool = False


class Together(NamedTuple):
    """A joint start: how many Pods passed at once, and when the youngest was created (nanoseconds, whole seconds)."""

    pods: int = 1
    youngest: int = 0

    def __str__(self) -> str:
        return f"{self.pods} {times.rfc3339(self.youngest)}" if self.pods > 1 else "1"

    @classmethod
    def parse(cls, text: str) -> Together:
        """Read the annotation; ALONE if it is not readable."""
        pods, _, youngest = text.partition(" ")
        known = pods.isascii() and pods.isdecimal() and len(pods) < _DIGITS
        return cls(int(pods), times.parse(youngest)) if known else ALONE


ALONE = Together()


@dataclass(frozen=True, slots=True)
class VolcanoGatedPod(PodAtGate):
    """A Pod of Volcano's queues.

    group: its PodGroup; empty if it names none.
    need: what it requests.
    role: its task in the PodGroup.
    together: the joint start with which it passed.
    reclaims: whether other Pods may be reclaimed for it.
    stays: it is never reclaimed itself.
    """

    PROJECT = VOLCANO

    group: str
    need: Need
    role: str = ""
    priority: int = 0
    created: int = 0
    together: Together = ALONE
    reclaims: bool = True
    stays: bool = False

    def counts_as(self, other: VolcanoGatedPod) -> bool:
        """Whether both Pods count the same, apart from whether they wait."""
        counted, others = ((p.key, p.group, p.need, p.role, p.priority, p.created, p.reclaims) for p in (self, other))
        return counted == others


class GatedGroup(NamedTuple):
    """A PodGroup and the name of its PriorityClass."""

    group: PodGroup
    priority_class: str
    uid: str = ""


class GatedQueue(NamedTuple):
    """A Queue. `flaw`: why its amounts or its parent cannot be read; empty if they can."""

    settings: VolcanoQueueSettings
    flaw: str = ""


def read_gated_pod(manifest: Manifest) -> VolcanoGatedPod:
    return gated_pod(pod_reading(manifest))


def gated_pod(pod: PodReading) -> VolcanoGatedPod:
    """The Pod as Volcano's queues count it."""
    notes, project, namespace = pod.annotations, pod.labels.get(QUOTA_KEY, ""), pod.namespace
    group = group_in(notes, namespace) or ""
    ours = project == VOLCANO or group != ""  # the requests of other Pods are never counted
    requests = counted(pod_allocated(pod.spec, pod.status)) if ours else {}
    return VolcanoGatedPod(
        group,
        Need(tuple((r, requests[r]) for r in limited_resources(requests)), _claims_devices(pod, requests)),
        task_of(notes, pod.labels),
        integer(pod.spec.get("priority")) or 0,
        times.parse(pod.created),
        Together.parse(notes.get(TOGETHER, "")) if project == VOLCANO else ALONE,
        pod.spec.get("preemptionPolicy") != "Never",
        project != VOLCANO or not is_preemptable(pod) or is_system(pod),
        key=joined(namespace, pod.name),
        project=project,
        admitted=notes.get(ADMITTED, "") if project == VOLCANO else "",
        waits=notes.get(WAITS, ""),
        **pod.life,
    )


def _claims_devices(pod: PodReading, requests: Iterable[str]) -> bool:
    """A scheduler makes a claim of a request that names a class of devices (KEP-5004)."""
    return bool(listing(pod.spec.get("resourceClaims"))) or any(name.startswith(_OF_CLASS) for name in requests)


def is_system(pod: PodReading) -> bool:
    return pod.namespace == SYSTEM or pod.spec.get("priorityClassName") in CRITICAL


def read_gated_group(manifest: Manifest) -> GatedGroup:
    """Read a PodGroup without phase and minResources: the gate counts the requests of its Pods instead."""
    group = replace(read_pod_group(manifest, {}), phase="", minimum=None)
    priority_class = text(mapping(manifest.get("spec")).get("priorityClassName")) or ""
    return GatedGroup(group, priority_class, text(metadata(manifest).get("uid")) or "")


def read_gated_queue(manifest: Manifest) -> GatedQueue:
    spec, reader = mapping(manifest.get("spec")), ManifestReader(manifest)
    guarantee = mapping(spec.get("guarantee")).get("resource")
    for field, value in (("capability", spec.get("capability")), ("deserved", spec.get("deserved"))):
        reader.amounts(value, f"spec.{field}")
    reader.amounts(guarantee, "spec.guarantee.resource")
    wrong = next((each for each in reader.defects() if each.field.startswith(_COUNTED) and not each.warning), None)
    return GatedQueue(read_queue(manifest), f"{wrong.field}: {wrong.message}" if wrong else "")
