"""Worker clusters as values: where a kubeconfig is, how a worker can be reached, what is reported and asked of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from cluster.actions import Action
from reconciler.objects.observed import Key, Listed, Observed
from reconciler.objects.outcomes import Outcome

ConnectionState: TypeAlias = Literal["connected", "connecting", "lost", "misconfigured"]


@dataclass(frozen=True, slots=True)
class WorkerConnection:
    """How a worker can be reached.

    `connecting`: it was never reached since the process started or its kubeconfig changed. `misconfigured`: its
    kubeconfig cannot be used, or the worker refuses its credentials. `since` (nanoseconds) is the transition of the
    condition Active of its MultiKueueCluster as it is stored, so that no restart changes it; 0 where there is none.
    `reason` and `message` are those of the condition.
    """

    state: ConnectionState
    reason: str = ""
    message: str = ""
    since: int = 0

    @property
    def connected(self) -> bool:
        return self.state == "connected"


@dataclass(frozen=True, slots=True)
class SecretSource:
    """A Secret in the manager's own namespace."""

    name: str


@dataclass(frozen=True, slots=True)
class PathSource:
    """A file of the manager's container."""

    path: str


@dataclass(frozen=True, slots=True)
class ProfileSource:
    """A ClusterProfile in the manager's own namespace."""

    name: str


Source: TypeAlias = SecretSource | PathSource | ProfileSource


@dataclass(frozen=True, slots=True)
class WorkerActivity:
    """The condition Active as it is stored; `since` (nanoseconds) is its last transition, 0 where there is none."""

    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    since: int = 0

    @property
    def holds(self) -> bool:
        return self.status == "True"


# --- what is reported, and what is asked for


@dataclass(frozen=True, slots=True)
class FromWorker:
    """News of a worker: of an object there, of a write, or of how it can be reached; None: it is no worker any more.

    After a connection is made, the lists of all kinds come before it is said to be connected; while it is lost, what
    was observed last stays, and comes again with the next lists.
    """

    cluster: str
    news: Observed[object] | Listed | Outcome | WorkerConnection | None


@dataclass(frozen=True, slots=True)
class WorkerWrite:
    """Carry the action out on a worker; comes back as an Outcome, Failed where the worker cannot be reached."""

    cluster: str
    key: Key
    action: Action


@dataclass(frozen=True, slots=True)
class FollowWorker:
    """Connect to the worker by the kubeconfig that is kept there; again where that changes."""

    cluster: str
    source: Source | None


@dataclass(frozen=True, slots=True)
class WorkerCondition:
    """So the condition Active of its MultiKueueCluster is stored, which is the clock of a loss."""

    cluster: str
    active: WorkerActivity


@dataclass(frozen=True, slots=True)
class DropWorker:
    """It is no worker any more."""

    cluster: str


WorkerCommand: TypeAlias = WorkerWrite | FollowWorker | WorkerCondition | DropWorker
