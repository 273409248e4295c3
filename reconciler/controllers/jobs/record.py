"""One record per job and one per Workload: what is known of it, in which state it is, and how it came there.

A job is known from the moment that a watch shows it, a Workload names it as its owner, or another job names it as its
controller. `transitions.py` has the states and what leads from one to the next.
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
"""Pods are watched by themselves: those that were made last may be seen after their job has gone."""
_KEPT_CHANGES = 8
"""Changes of state that a record keeps."""


class JobId(NamedTuple):
    """A job as its Workloads and children name it; all three parts must agree.

    `kind` is the name of its JobKind, `name` is `namespace/name`. Whoever knows the uid of a job may write that beside
    another name: that is another job, which the API server does not have.
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


class State(Enum):
    """Of a job. `transitions.py` draws them."""

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
    """Of a Workload for which no job in sight may stand."""

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
    """What happens to a job: a watch shows it or does so no more, others name it, the API server answers."""

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
    """One change of state. `at` is in nanoseconds, 0 until the next turn of the controller says which moment it is."""

    at: int
    before: State
    event: Event
    after: State


class ShownJob(NamedTuple):
    """A job as a watch shows it, and as others see it.

    `workload`, as `namespace/name`, stands for the job. `deleting`: it is being deleted. `elastic`: a slice stands for
    it. `moves`: another Workload may come to stand for it without a change of its own. `local_queue` as
    `namespace/name`, without a name where it names none. `owner` is the controller that it names, None where that is
    no job.

    `queued`: others may belong to it. `running`: it may have pods. `requests`: what all its pods request.
    `generations`: so many times that its children may take while it replaces one by the next. `gated`: all its pods
    wait at the gate of slices. `grows`: slices open that gate for those below it as well, and `slice_requests` is its
    part of `requests` that they stand for.
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


@dataclass(slots=True, eq=False)
class JobRecord:
    """What is known of one job; moments in nanoseconds.

    `shown` is None where no watch shows it. `workloads` name it as an owner, `children` as their controller. `why` it
    is in its state. `due`: nothing is concluded before this moment. `since`: for so long no watch has shown it, or it
    has not been queued. `exists`: whether the API server has an object of its name, None where it was not asked.
    `confirmed`: the API server said so of this uid, after its Workload lost it. `idle`: it had no pods when it was
    shown last, or found. `used`: Workloads that its pods may still run on, though another stands for it.
    """

    id: JobId
    state: State = State.UNRESOLVED
    why: str = "another object names it, and no watch shows it"
    shown: ShownJob | None = None
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
        return self.shown is None and not self.workloads and not self.children

    def enter(self, state: State, event: Event, why: str) -> bool:
        """Whether that is another state than before."""
        self.why = why
        if state is self.state:
            return False
        self.changes = (*self.changes[1 - _KEPT_CHANGES :], JobChange(0, self.state, event, state))
        self.state = state
        return True

    def stamp(self, now: int) -> None:
        """What has happened since the last turn happened now."""
        self.changes = tuple(each if each.at else each._replace(at=now) for each in self.changes)


@dataclass(slots=True, eq=False)
class WorkloadRecord:
    """Who has to do with a Workload; moments in nanoseconds.

    `owners` are its owners among the jobs. It stands for `jobs`: most have one of their own, but several may name the
    same. `pods` run on its quota. `left`: its job has gone and may have had pods, `left_at` is when that was looked at
    first. `state` is None where nobody had to look at it by itself; `why` it is in that state.
    """

    owners: tuple[JobId, ...] = ()
    state: WorkloadState | None = None
    why: str = ""
    jobs: dict[Key, None] = field(default_factory=dict)
    pods: dict[str, StartedPod] = field(default_factory=dict)
    left: bool = False
    left_at: int | None = None

    @property
    def unreferenced(self) -> bool:
        return not (self.owners or self.jobs or self.pods or self.left)

    def bound(self) -> Counter[str]:
        """How many of its Pods have a node, by pod set."""
        return Counter(pod.pod_set for pod in self.pods.values() if pod.bound)

    def pods_due(self, now: int) -> int | None:
        """Until when more Pods may come into sight; None where none will."""
        if not self.left:
            return None
        self.left_at = now if self.left_at is None else self.left_at
        until = self.left_at + PODS_PATIENCE
        return until if now < until else None
