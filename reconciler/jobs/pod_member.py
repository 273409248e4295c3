"""A managed Pod with the fields that decisions need. Two Pods are equal if no decision could treat them differently.

Source: Kueue v0.19, pkg/controller/jobs/pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from sys import intern

from cluster.resource import Manifest
from policies.dialects.core import POD
from policies.dialects.go_values import read_count
from policies.dialects.kueue_jobs import MANAGED, POD_GROUP_SIZE, PRIORITY_CLASS, RETRIABLE, SUSPENDED_BY, managed_owner
from policies.dialects.kueue_pods import FAST_ADMISSION, SERVING
from policies.dialects.kueue_workload import GATED_BY
from policies.dialects.naming import NAMING, Naming
from policies.dialects.pod_reading import PodLife, PodReading, pod_reading
from policies.dialects.reading import listing, text
from policies.mutation.kueue_pod_defaults import GATE
from reconciler.objects.packed import Packed
from scheduling.objects.amounts import Requests
from scheduling.objects.roles import RoleClaim, claimed_role, pod_requests
from scheduling.objects.submission import maximum_seconds, queue_of
from scheduling.objects.template import template

TERMINATION_TARGET = "TerminationTarget"
"""The condition that names the controller that ended a Pod, and the reason. It is written before the deletion."""
_UNKNOWN_END = "9999"
"""A text that sorts after any time."""


@dataclass(frozen=True, slots=True)
class GroupPod(PodLife):
    """A Pod of a group, or a single Pod. `version` and `packed` are not compared.

    `workload`: `namespace/name` of its Workload.
    `group`: the name of its group; empty for a single Pod.
    `size`: the size of the group; None if it is unknown.
    `queue`: its LocalQueue.
    `claim`: the role that it claims, and its requests. `scheduling.objects.roles` says how far a claim is trusted.
    `priority_class`: its WorkloadPriorityClass.
    `gated_by`: its admission gates, as written.
    `max_seconds`: its maximum execution time.
    `retriable`: whether it may be replaced after a failure.
    `serving`: whether its group serves requests, and so never finishes.
    `fast`: whether its group uses fast admission.
    `prebuilt`: whether it names a prebuilt Workload.
    `marked`: whether it has the label of managed Pods, which the watch selects.
    `owned`: whether its owner is a job that is queued for it.
    `parental`: whether the pod template of its owner has the annotation that lets its Pods queue by themselves.
    `grace`: its grace period for termination, in seconds.
    `finalized`: whether it has the finalizer of managed Pods.
    `targeted`: whether we have written the condition that it has to end.
    `scheduled`: whether its status says that it has a node.
    `ended_at`: when it last ran, as far as is known; the time as written.
    `message`: the message in its status.
    """

    namespace: str
    name: str
    created: str
    workload: str
    group: str
    size: int | None
    queue: str
    claim: RoleClaim
    node_selector: Mapping[str, str]
    priority_class: str
    gated_by: str | None
    max_seconds: int | None
    retriable: bool
    serving: bool
    fast: bool
    prebuilt: bool
    marked: bool
    owned: bool
    parental: bool
    grace: int
    finalized: bool
    targeted: bool
    scheduled: bool
    ready: bool
    ended_at: str
    message: str
    version: str = field(compare=False)
    packed: Packed = field(compare=False, repr=False)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def queued(self) -> bool:
        """Whether the Pod is queued by itself, according to its labels and owners, which users may change later."""
        return self.marked and not self.owned

    @property
    def asks(self) -> Requests:
        return self.claim.asks

    @property
    def gated(self) -> bool:
        return self.waits_at(GATE)

    @property
    def counts(self) -> bool:
        """Whether the Pod counts as a member of its group: it has succeeded, runs, or will run."""
        return self.succeeded or not (self.failed or self.deleting)

    @property
    def occupies(self) -> bool:
        """Whether the Pod uses quota, or could start to use some at any time."""
        return self.may_run and not self.gated

    @property
    def of_set(self) -> bool:
        """Whether it is one of a group of a StatefulSet, which creates a Pod again when it is gone."""
        return self.serving and self.parental

    @property
    def away(self) -> bool:
        """Whether the Pod shows the status of a copy on a worker. On this cluster a gated Pod never has a node."""
        return self.gated and not self.ended and (self.scheduled or self.phase == "Running")


def read_member(manifest: Manifest, naming: Naming = NAMING) -> GroupPod:
    return member(pod_reading(manifest), Packed.of(manifest), naming)


def member(pod: PodReading, packed: Packed, naming: Naming) -> GroupPod:
    labels, notes = pod.labels, pod.annotations
    parental = SUSPENDED_BY in notes
    namespace, name = pod.namespace, pod.name
    group, prebuilt, shape = naming.group(pod.manifest), naming.prebuilt(pod.meta), template(pod.spec)
    return GroupPod(
        **pod.life,
        namespace=intern(namespace),
        name=name,
        created=pod.created,
        workload=f"{namespace}/{prebuilt or group or naming.workload(POD, name, pod.uid)}",
        group=intern(group),
        size=read_count(notes.get(POD_GROUP_SIZE, "")),
        queue=intern(queue_of(pod.manifest)),
        claim=RoleClaim(intern(claimed_role(pod.manifest)) if group else "main", pod_requests(shape)),
        node_selector=shape.node_selector,
        priority_class=intern(labels.get(PRIORITY_CLASS, "")),
        gated_by=notes.get(GATED_BY),
        max_seconds=maximum_seconds(labels),
        retriable=notes.get(RETRIABLE) != "false",
        serving=bool(group) and notes.get(SERVING) == "true",
        fast=notes.get(FAST_ADMISSION) == "true",
        prebuilt=bool(prebuilt),
        marked=labels.get(MANAGED) == "true",
        owned=bool(managed_owner(pod.meta)) and not parental and not _held(pod),
        parental=parental,
        grace=pod.grace,
        finalized=_finalized(pod),
        targeted=pod.says(TERMINATION_TARGET),
        scheduled=pod.says("PodScheduled"),
        ready=pod.says("Ready"),
        ended_at=_ended_at(pod),
        message=text(pod.status.get("message")) or "",
        version=pod.version,
        packed=packed,
    )


def _held(pod: PodReading) -> bool:
    """Whether the Pod was gated when it was created. Owners that are added later do not change that."""
    return _finalized(pod) or pod.waits_at(GATE)


def _finalized(pod: PodReading) -> bool:
    return MANAGED in listing(pod.meta.get("finalizers"))


def _ended_at(pod: PodReading) -> str:
    ready = pod.condition("ContainersReady")
    failed = ready.get("status") == "False" and ready.get("reason") == "PodFailed"
    moments = (text(ready.get("lastTransitionTime")) if failed else None, text(pod.meta.get("deletionTimestamp")))
    return min(filter(None, moments), default=_UNKNOWN_END)
