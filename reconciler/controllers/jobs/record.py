"""A record for each job and each Workload: what is known about it, its state, and its latest state changes.

A job is known if a watch shows it, a Workload names it as its owner, or another job names it as its controller.
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
"""How long Pods may appear after the end of their job. Pods have their own watch, which may be later."""
_KEPT_CHANGES = 8
"""The number of state changes that a record keeps."""


class JobId(NamedTuple):
    """The identity of a job in owner references. All three fields must match.

    `kind`: the name of its JobKind.
    `name`: `namespace/name`.
    `uid`: the uid. If a client writes a reference with the uid of one job and the name of another, it refers to a third
        job, which does not exist.
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
    """The states of a job; see `transitions.py`."""

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
    """The events that may change the state of a job."""

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

    `at`: the time in nanoseconds; 0 until the controller's next turn sets it.
    """

    at: int
    before: JobState
    event: Event
    after: JobState


class VisibleJob(NamedTuple):
    """A job as a watch shows it, and what other jobs need to know about it.

    `packed`: the manifest.
    `workload`: `namespace/name` of the Workload that represents the job.
    `deleting`: whether the job is being deleted.
    `elastic`: whether the Workload is a slice.
    `moves`: whether another Workload may come to represent the job without a change of the job itself.
    `local_queue`: `namespace/name`; the name is empty if the job names no queue.
    `owner`: the job's controller; None if the controller is not a job.
    `queued`: whether the job is queued, so that the quota for it may also be for its children.
    `running`: whether the job may have pods.
    `created`: the creation timestamp and the name, to compare the age of jobs.
    `requests`: the requests of all its pods.
    `generations`: children may use this many times `requests`, because the job may replace one child by another.
    `gated`: whether all its pods wait at the gate of slices.
    `grows`: whether the slices of this job open that gate for its children as well.
    `slice_requests`: the part of `requests` that these slices represent.
    `own_requests`: the part of `requests` that no child may use.
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
    """Everything that is known about one job. Times are in nanoseconds.

    `why`: the reason for its state.
    `visible`: the job as a watch shows it; None if no watch does.
    `workloads`: the Workloads that name the job as an owner.
    `children`: the jobs whose controller it is.
    `due`: the time until which it stays in its state; None if it need not wait.
    `since`: when watches stopped showing the job, or it stopped being queued; None if it is visible and queued.
    `exists`: whether the API server has an object with its name; None if that was not looked up.
    `confirmed`: whether the API server has confirmed the job since its Workload lost the owner reference to it.
    `idle`: whether the job had no pods when it was last observed.
    `used`: Workloads that do not represent the job any more, but whose quota its pods may still use.
    `changes`: the latest changes of its state.
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
        """Set the time of the changes since the last turn."""
        self.changes = tuple(each if each.at else each._replace(at=now) for each in self.changes)


@dataclass(slots=True, eq=False)
class WorkloadRecord:
    """The objects that refer to one Workload. Times are in nanoseconds.

    `owners`: the jobs among its owners.
    `state`: its state; None if it never needed one.
    `why`: the reason for its state.
    `jobs`: the visible jobs that it represents. That is usually one, but several jobs may name the same Workload.
    `pods`: the Pods that use its quota.
    `given_up`: the Pods among them that may have to end; see `StartedPod.given_up`.
    `left`: whether its job is gone and may have had pods.
    `left_at`: when that was first looked at.
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
        """The number of its Pods that are bound to a Node, by pod set."""
        return Counter(pod.pod_set for pod in self.pods.values() if pod.bound)

    def pods_due(self, now: int) -> int | None:
        """The end of the wait for more Pods to become visible; None if no more will."""
        if not self.left:
            return None
        self.left_at = now if self.left_at is None else self.left_at
        until = self.left_at + PODS_PATIENCE
        return until if now < until else None
