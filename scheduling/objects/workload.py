"""A Workload as decisions need it: typed, immutable and small.

Times are integer nanoseconds (see `scheduling.objects.times`). `scheduling.objects.reading` reads it from a manifest,
`scheduling.objects.requests` counts its requests, and `scheduling.status` computes its next state.
Source: Kueue v0.19, apis/kueue v1beta2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from policies.amounts.devices import NO_DEVICES, DeviceCharge
from policies.dialects.kueue_workload import ELASTIC, GATED_BY, REPLACES, PriorityClassReference
from policies.model.objects import GroupKind
from scheduling.objects.template import PodTemplate

QUOTA_RESERVED = "QuotaReserved"
ADMITTED = "Admitted"
EVICTED = "Evicted"
PREEMPTED = "Preempted"
REQUEUED = "Requeued"
FINISHED = "Finished"
PODS_READY = "PodsReady"
DEACTIVATION_TARGET = "DeactivationTarget"
BLOCKED_ON_GATES = "BlockedOnPreemptionGates"
WAITING_FOR_REPLACEMENT = "WaitingForReplacementPods"

OPEN = "Open"
CLOSED = "Closed"
"""Positions of a preemption gate."""

ON_HOLD = "OnHold"
DEACTIVATED = "Deactivated"
PODS_READY_TIMEOUT = "PodsReadyTimeout"
ADMISSION_CHECK = "AdmissionCheck"
MAXIMUM_EXECUTION_TIME = "MaximumExecutionTimeExceeded"
SLICE_REPLACED = "WorkloadSliceReplaced"
OUT_OF_SYNC = "OutOfSync"
OWNER_NOT_FOUND = "OwnerNotFound"

ALLOWED_FLAVORS = "kueue.x-k8s.io/workload-allowed-resource-flavors"
JOB_UID = "kueue.x-k8s.io/job-uid"
ORIGIN = "kueue.x-k8s.io/multikueue-origin"
"""The label of every object that a manager created on a worker. Its value is different for each manager."""
IS_GROUP_WORKLOAD = "kueue.x-k8s.io/is-group-workload"
"""Annotation of the Workload of a group of Pods."""

_SLICES = ("podSetSliceRequiredTopology", "podSetSliceSize", "podsetSliceRequiredTopologyConstraints")
_LEVELS = ("required", "preferred", "unconstrained", *_SLICES)
"""The keys of a topologyRequest that constrain where the pods may be, including `unconstrained: false`."""


class Condition(NamedTuple):
    """A condition. `status`: the string True, False or Unknown. `since`: its last transition."""

    status: str
    reason: str = ""
    message: str = ""
    since: int = 0
    generation: int = 0


@dataclass(frozen=True, slots=True)
class PodSet:
    """Pods with one template.

    min_count: None if all are needed.
    topology: the topologyRequest as written.
    devices: what the devices of one pod count. They are known only while the workload is in a queue.
    """

    name: str
    count: int
    template: PodTemplate
    min_count: int | None = None
    topology: Mapping[str, Any] | None = None
    devices: DeviceCharge = NO_DEVICES

    @property
    def asks_for_topology(self) -> bool:
        """Whether it requests a level or slices.

        A podIndexLabel alone does not count: Kueue writes it for every Job.
        """
        request = self.topology
        return request is not None and any(request.get(key) not in (None, "", []) for key in _LEVELS)


@dataclass(frozen=True, slots=True)
class PodSetAdmission:
    """The admission of one pod set: a flavor by resource, and the amount of each resource for all `count` pods.

    count: None if the status lacks it.
    topology: the topologyAssignment as written.
    delayed: Pending until a delayed topologyAssignment exists.
    """

    name: str
    flavors: Mapping[str, str]
    usage: Mapping[str, int]
    count: int | None = None
    topology: Mapping[str, Any] | None = None
    delayed: str = ""


@dataclass(frozen=True, slots=True)
class Admission:
    """The admission of a Workload: its ClusterQueue, and the flavors of its pod sets."""

    cluster_queue: str
    assignments: tuple[PodSetAdmission, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckState:
    """The state of an admission check: Pending, Ready, Retry or Rejected.

    requeue_after: in seconds.
    updates: its podSetUpdates as written.
    """

    name: str
    state: str
    message: str = ""
    since: int = 0
    requeue_after: int | None = None
    retries: int | None = None
    updates: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class RequeueState:
    """The requeueState. `count`: how often it was requeued. `at`: when it may return to its queue."""

    count: int | None = None
    at: int = 0


class PreemptionGate(NamedTuple):
    """The state of a preemption gate. `position`: OPEN or CLOSED."""

    position: str
    since: int = 0


@dataclass(frozen=True, slots=True)
class Eviction:
    """The number of evictions for a reason and a cause."""

    reason: str
    cause: str
    count: int


class Owner(NamedTuple):
    """An owner reference of a Workload."""

    api_version: str
    kind: str
    name: str
    uid: str

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind.of(self.api_version, self.kind)


_EMPTY: Mapping[str, Any] = MappingProxyType({})


def _nothing() -> Mapping[str, Any]:
    """The empty mapping that all workloads share, since most of their mappings are empty."""
    return _EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A Workload.

    labels, annotations: only those of Kueue.
    queue: the name of its LocalQueue; empty if it names none.
    base: spec.priority. boost: the value of the annotation priority-boost, which is added.
    gates: the preemption gates in its spec. gate_states: their states.
    reclaimable: the number of pods that are done, by pod set.
    past_seconds: how long it ran before its last admission.
    nominated: status.nominatedClusterNames. cluster: status.clusterName.
    """

    namespace: str
    name: str
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    created: int = 0
    deleting: bool = False
    labels: Mapping[str, str] = field(default_factory=_nothing)
    annotations: Mapping[str, str] = field(default_factory=_nothing)
    owners: tuple[Owner, ...] = ()

    queue: str = ""
    pod_sets: tuple[PodSet, ...] = ()
    base: int = 0
    boost: int = 0
    priority_class: PriorityClassReference | None = None
    active: bool = True
    maximum_seconds: int | None = None
    gates: tuple[str, ...] = ()

    conditions: Mapping[str, Condition] = field(default_factory=_nothing)
    admission: Admission | None = None
    requeue: RequeueState | None = None
    reclaimable: Mapping[str, int] = field(default_factory=_nothing)
    checks: tuple[CheckState, ...] = ()
    resource_requests: Mapping[str, Mapping[str, int]] = field(default_factory=_nothing)
    past_seconds: int | None = None
    evictions: tuple[Eviction, ...] = ()
    nominated: tuple[str, ...] = ()
    cluster: str = ""
    unhealthy_nodes: tuple[str, ...] = ()
    gate_states: Mapping[str, PreemptionGate] = field(default_factory=_nothing)

    def __eq__(self, other: object) -> bool:
        """Whether all fields are equal. The same object is compared first, since most steps return their argument."""
        if self is other:
            return True
        return _contents(self) == _contents(other) if isinstance(other, Workload) else NotImplemented

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def local_queue(self) -> str:
        """The LocalQueue as `namespace/name`."""
        return f"{self.namespace}/{self.queue}"

    @property
    def priority(self) -> int:
        """The effective priority. With a boost it may exceed 32 bits."""
        return self.base + self.boost

    def holding(self, condition: str) -> Condition | None:
        """The condition if it is True, else None."""
        found = self.conditions.get(condition)
        return found if found is not None and found.status == "True" else None

    def holds(self, condition: str) -> bool:
        return self.holding(condition) is not None

    @property
    def reserved(self) -> bool:
        return self.holds(QUOTA_RESERVED)

    @property
    def admitted(self) -> bool:
        return self.holds(ADMITTED)

    @property
    def finished(self) -> bool:
        return self.holds(FINISHED)

    @property
    def evicted(self) -> bool:
        return self.holds(EVICTED)

    @property
    def pending_since(self) -> int:
        """When it began to wait: the last loss of its quota, or else its creation."""
        found = self.conditions.get(QUOTA_RESERVED)
        lost = found is not None and found.status == "False" and self.evicted
        return max(self.created, found.since) if found is not None and lost else self.created

    @property
    def counts(self) -> bool:
        """Whether its admission counts as usage: quota is reserved, and it is not finished. One that is deactivated
        counts until its pods have ended, as after any other eviction.
        """
        return self.reserved and not self.finished

    @property
    def on_hold(self) -> bool:
        """Whether its owner released the reservation and does not want a new one."""
        found = self.conditions.get(QUOTA_RESERVED)
        return found is not None and found.status == "False" and found.reason == ON_HOLD

    @property
    def queueable(self) -> bool:
        """Whether it may wait in a queue."""
        return self.active and not (
            self.finished or self.reserved or self.on_hold or self.holds(WAITING_FOR_REPLACEMENT)
        )

    @property
    def of_one_pod(self) -> bool:
        """Whether it belongs to a single Pod, which cannot be restarted."""
        owner = self.owners[0] if len(self.owners) == 1 else None
        return owner is not None and owner[:2] == ("v1", "Pod") and self.annotations.get(IS_GROUP_WORKLOAD) != "true"

    @property
    def gated_by(self) -> str:
        """The admission gates in its annotation, which keep it out of the queues; empty if there are none."""
        return self.annotations.get(GATED_BY, "")

    @property
    def preemption_gated(self) -> bool:
        """Whether a preemption gate of its spec is closed. A gate without a state is closed."""
        return any(self.gate_states.get(name, PreemptionGate(CLOSED)).position == CLOSED for name in self.gates)

    @property
    def elastic(self) -> bool:
        """Whether it is a slice of an elastic job or replaces one."""
        return self.annotations.get(ELASTIC) == "true" or REPLACES in self.annotations

    @property
    def replaces(self) -> str:
        """The slice of the elastic job from which this one takes over, as `namespace/name`; empty if none."""
        return self.annotations.get(REPLACES, "")

    def takes_over_from(self, other: Workload) -> bool:
        """Whether its annotation names the other Workload, and both belong to the same elastic job.

        A slice that a manager created on this worker belongs to no job until it is admitted. A job that is not elastic
        would not follow the slice that has the quota. Of two slices that name each other, none takes over; otherwise
        neither would count.
        """
        if self.replaces != other.key or other.replaces == self.key or self.namespace != other.namespace:
            return False
        if other.owners and not other.elastic:
            return False
        sent = not self.owners and bool(self.origin) and self.origin == other.origin
        return sent or self.owners == other.owners

    @property
    def origin(self) -> str:
        """The manager that created it on this worker; empty if it was created in this cluster."""
        return self.labels.get(ORIGIN, "")

    @property
    def allowed_flavors(self) -> tuple[str, ...] | None:
        """The flavors that it may use; None means all."""
        named = self.annotations.get(ALLOWED_FLAVORS)
        return tuple(filter(None, map(str.strip, named.split(",")))) if named else None

    @property
    def checks_ready(self) -> bool:
        return all(check.state == "Ready" for check in self.checks)

    def leaves_more_room_than(self, before: Workload) -> bool:
        """Whether other workloads should be tried again, although this one still has quota.

        That is also true if its eviction could not be written, since workloads that wait for its quota have to find
        other victims.
        """
        stays = before.reserved and before.evicted and not self.evicted
        sizes = self.sizes
        shrunk = any(sizes.get(pod_set.name, 0) < pod_set.count for pod_set in before.pod_sets)
        return stays or shrunk or before.reclaimable != self.reclaimable or before.priority != self.priority

    def check(self, name: str) -> CheckState | None:
        return next((check for check in self.checks if check.name == name), None)

    @property
    def sizes(self) -> dict[str, int]:
        """The number of pods by pod set."""
        return {pod_set.name: pod_set.count for pod_set in self.pod_sets}

    @property
    def assignments(self) -> tuple[PodSetAdmission, ...]:
        """The admissions of its pod sets; empty if it is not admitted."""
        return self.admission.assignments if self.admission is not None else ()

    @property
    def pod_set_names(self) -> tuple[str, ...]:
        return tuple([pod_set.name for pod_set in self.pod_sets])

    def pod_set(self, name: str) -> PodSet | None:
        return next((pod_set for pod_set in self.pod_sets if pod_set.name == name), None)


_contents = attrgetter(*(each.name for each in fields(Workload)))
