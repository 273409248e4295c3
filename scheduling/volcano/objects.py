"""Volcano's objects as decisions need them. Amounts are in the units of `resources.py`, times in nanoseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from policies.dialects.taints import Taint
from policies.dialects.volcano_node_groups import NodeGroupAffinity
from policies.model.objects import parted
from scheduling.queue_tree.amounts import Amounts
from scheduling.topology.node_filter import ANY_NODE, NodeFilter

NOTHING: Amounts = MappingProxyType({})
Devices = Mapping[str, int]
"""A count by `deviceclass/<class>`, and a capacity in nano by `<dimension>.deviceclass/<class>`."""


@dataclass(frozen=True, slots=True)
class VolcanoQueueSettings:
    """A Queue.

    capability: None if it is not set.
    devices: the limits on devices in its capability.
    affinity: the node groups that it may use or prefers.
    group_limits: amounts by node group; None if they cannot be read.
    """

    name: str
    parent: str = "root"
    priority: int = 0
    weight: int = 1
    reclaimable: bool = True
    state: str = "Open"
    capability: Amounts | None = None
    deserved: Amounts = field(default_factory=dict)
    guarantee: Amounts = field(default_factory=dict)
    devices: Devices = field(default_factory=dict)
    affinity: NodeGroupAffinity | None = None
    group_limits: Mapping[str, Amounts] | None = field(default_factory=dict)
    created: int = 0

    @property
    def is_open(self) -> bool:
        return self.state == "Open"


class Status(Enum):
    """The status of a pod.

    ALLOCATED: it has a node and has not started.
    PIPELINED: it waits for room on its node.
    RELEASING: it is evicted or deleted, or has failed.
    """

    PENDING = "Pending"
    ALLOCATED = "Allocated"
    RUNNING = "Running"
    PIPELINED = "Pipelined"
    RELEASING = "Releasing"
    FINISHED = "Finished"

    @property
    def holds_quota(self) -> bool:
        return self in (Status.ALLOCATED, Status.RUNNING)


_PARTS_OF_A_NAME = 3
"""The Job, the task and the index in the name of a pod of a Job."""


@dataclass(frozen=True, slots=True)
class Task:
    """A Pod of a PodGroup.

    node: where it runs, or waits to run; empty if it has none.
    nominated: the node from which pods were evicted for it.
    never_preempts: its preemptionPolicy is Never.
    gated: it has a scheduling gate and is not placed.
    role: its task in Volcano's Job.
    claims: the devices of each ResourceClaim that it names.
    """

    name: str
    group: str
    request: Amounts
    status: Status = Status.PENDING
    node: str = ""
    nominated: str = ""
    priority: int = 0
    priority_class: str = ""
    preemptable: bool = True
    never_preempts: bool = False
    gated: bool = False
    role: str = ""
    claims: Mapping[str, Devices] = field(default_factory=dict)
    placement: NodeFilter = ANY_NODE
    created: int = 0

    @property
    def namespace(self) -> str:
        return parted(self.name)[0]

    @property
    def index(self) -> int | None:
        """The number at the end of a name of at least three parts, such as `train-worker-2`."""
        words = parted(self.name)[1].split("-")
        return int(words[-1]) if len(words) >= _PARTS_OF_A_NAME and words[-1].isdecimal() else None


@dataclass(frozen=True, slots=True)
class PodGroup:
    """Pods that are scheduled together.

    members: spec.minMember. members_of: spec.minTaskMember, by task.
    minimum: spec.minResources; None if it is not set.
    lacks_pods: whether the controller of its Job creates the pods only once it is Inqueue.
    """

    name: str
    queue: str = "default"
    phase: str = "Pending"
    members: int = 0
    members_of: Mapping[str, int] = field(default_factory=dict)
    minimum: Amounts | None = None
    priority: int = 0
    created: int = 0
    lacks_pods: bool = False


@dataclass(frozen=True, slots=True)
class PodGroupAccounts:
    """The amounts of a PodGroup that count in its queue; `queues.py` defines the three accounts."""

    allocated: Amounts
    inqueue: Amounts
    elastic: Amounts


NO_ACCOUNTS = PodGroupAccounts(NOTHING, NOTHING, NOTHING)


@dataclass(frozen=True, slots=True)
class Machine:
    """A Node of Kubernetes."""

    name: str
    allocatable: Amounts
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
