"""One record for each job and each Workload: what is known of it, its state, and how it came there.

A job is known as soon as a watch shows it, a Workload names it as its owner, or another job names it as its controller.
`transitions.py` has the states and the transitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from policies.model.objects import parted
from reconciler.controllers.jobs.started_pods import StartedPod
from reconciler.objects.observed import Key
from reconciler.objects.packed import Packed
from scheduling.objects.times import SECOND

PODS_PATIENCE = 2 * SECOND
"""Pods have their own watch, so the last ones may be observed after the end of their job."""
_KEPT_CHANGES = 8
"""The number of state changes that a record keeps."""


class JobId(NamedTuple):
    """The identity of a job as its Workloads and children name it; all three fields must match.

    `kind`: the name of its JobKind.
    `name`: `namespace/name`.
    `uid`: the uid. A client that knows a job's uid may write it beside another name. That is another job, which does
        not exist in the API server.
    """

    kind: str
    name: str
    uid: str

    @property
    def key(self) -> Key:
        return self.kind, self.name

    @property
    def namespace(self) -> str:
        return parted(self.name)[0]


class JobState(Enum):
    """The states of a job. `transitions.py` draws them."""

    SHOWN = "Shown"
    OWNER_UNSEEN = "OwnerUnseen"
    OWNER_MISSING = "OwnerMissing"
    OWNED = "Owned"
    UNQUEUED = "Unqueued"
    QUEUED = "Queued"
    WORKLOAD_DISOWNED = "WorkloadDisowned"
    PODS_TERMINATING = "PodsTerminating"
    TERMINATING = "Terminating"
    UNRESOLVED = "Unresolved"
    SOUGHT = "Sought"
    HIDDEN = "Hidden"
    MISSING = "Missing"
    REPLACED = "Replaced"


class WorkloadState(Enum):
    """The states of a Workload that no visible job may represent."""

    GONE = "Gone"
    PODS_MAY_COME = "PodsMayCome"
    PODS_RUN = "PodsRun"
    UNUSED = "Unused"
    UNDECIDED = "Undecided"
    STANDS = "Stands"
    OF_OTHERS = "OfOthers"
    IN_USE = "InUse"
    REPLACED = "Replaced"
    ORPHANED = "Orphaned"
    RELEASED = "Released"


class Event(Enum):
    """The events of a job: a watch shows it or hides it, other objects name it, the API server answers."""

    SHOWN = "Shown"
    HIDDEN = "Hidden"
    NAMED = "Named"
    LOOK = "Look"
    NEEDED = "Needed"
    FOUND = "Found"
    FOUND_ANOTHER = "FoundAnother"
    NOT_FOUND = "NotFound"
    STILL_IN_USE = "StillInUse"


class JobChange(NamedTuple):
    """One change of state.

    `at`: the moment in nanoseconds; 0 until the next turn of the controller sets it.
    """

    at: int
    before: JobState
    event: Event
    after: JobState


class VisibleJob(NamedTuple):
    """A job as a watch shows it, and as other jobs see it.

    `workload`: `namespace/name` of the Workload that represents the job.
    `deleting`: the job is being deleted.
    `elastic`: a slice represents the job.
    `moves`: another Workload may come to represent the job without a change of the job itself.
    `local_queue`: `namespace/name`; without a name if the job names none.
    `owner`: the controller that the job names; None if the controller is not a job.
    `queued`: other jobs may belong to it.
    `running`: it may have pods.
    `requests`: the requests of all its pods.
    `generations`: how many times these requests its children may take while it replaces one child by the next.
    `gated`: all its pods wait at the gate of slices.
    `grows`: slices open that gate for the jobs below as well.
    `slice_requests`: the part of `requests` that these slices represent.
    `own_requests`: the part of `requests` that no child may take.
    """

    packed: Packed
    workload: str
    deleting: bool
    elastic: bool
    moves: bool
    local_queue: str
    owner: JobId | None
    queued: bool
    running: bool
    created: tuple[str, str]
    requests: Mapping[str, int]
    generations: int
    gated: bool = False
    grows: bool = False
    slice_requests: Mapping[str, int] = MappingProxyType({})
    own_requests: Mapping[str, int] = MappingProxyType({})


@dataclass(slots=True, eq=False)
class JobRecord:
    """Everything that is known of one job; moments are in nanoseconds.

    `visible`: the job as a watch shows it; None if no watch does.
    `workloads`: the Workloads that name the job as an owner.
    `children`: the jobs that name it as their controller.
    `why`: the reason for its state.
    `due`: nothing is concluded before this moment.
    `since`: since then no watch has shown the job, or it has not been queued.
    `exists`: whether the API server has an object of its name; None if it was not asked.
    `confirmed`: the API server confirmed this uid after the job's Workload had lost the job.
    `idle`: the job had no pods when it was shown or looked up last.
    `used`: Workloads that its pods may still run on, though another one represents the job now.
    """

    id: JobId
    state: JobState = JobState.UNRESOLVED
    why: str = "another object names it, and no watch shows it"
    visible: VisibleJob | None = None
    workloads: dict[str, None] = field(default_factory=dict)
    children: dict[JobId, None] = field(default_factory=dict)
    due: int | None = None
    since: int | None = None
    exists: bool | None = None
    confirmed: bool = False
    idle: bool = False
    used: tuple[str, ...] = ()
    changes: tuple[JobChange, ...] = ()

    @property
    def unreferenced(self) -> bool:
        return self.visible is None and not self.workloads and not self.children

    def enter(self, state: JobState, event: Event, why: str) -> bool:
        """Set the state. Returns whether it differs from the one before."""
        self.why = why
        if state is self.state:
            return False
        self.changes = (*self.changes[1 - _KEPT_CHANGES :], JobChange(0, self.state, event, state))
        self.state = state
        return True

    def stamp(self, now: int) -> None:
        """Set the moment of the changes since the last turn."""
        self.changes = tuple(each if each.at else each._replace(at=now) for each in self.changes)


@dataclass(slots=True, eq=False)
class WorkloadRecord:
    """The objects that refer to one Workload; moments are in nanoseconds.

    `owners`: its owners among the jobs.
    `jobs`: the jobs that it represents. Most jobs have their own Workload, but several may name the same.
    `pods`: the Pods that run on its quota.
    `pod_sets`: the number of these Pods by pod set.
    `given_up`: those of them that its job gave up.
    `left`: its job is gone and may have had pods.
    `left_at`: when that was looked at first.
    `state`: its state; None if it never needed a look of its own.
    `why`: the reason for its state.
    """

    owners: tuple[JobId, ...] = ()
    state: WorkloadState | None = None
    why: str = ""
    jobs: dict[Key, None] = field(default_factory=dict)
    pods: dict[str, StartedPod] = field(default_factory=dict)
    pod_sets: Counter[str] = field(default_factory=Counter)
    given_up: dict[str, None] = field(default_factory=dict)
    left: bool = False
    left_at: int | None = None

    @property
    def unreferenced(self) -> bool:
        return not (self.owners or self.jobs or self.pods or self.left)

    def bound(self) -> Counter[str]:
        """The number of its Pods that have a node, by pod set."""
        return Counter(pod.pod_set for pod in self.pods.values() if pod.bound)

    def pods_due(self, now: int) -> int | None:
        """The moment until which more Pods may become visible; None if no more will."""
        if not self.left:
            return None
        self.left_at = now if self.left_at is None else self.left_at
        until = self.left_at + PODS_PATIENCE
        return until if now < until else None
