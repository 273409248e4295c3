"""Worker clusters as values: the source of a kubeconfig, the state of a connection, commands and reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from cluster.actions import Action
from reconciler.objects.observed import Key, Listed, Observed
from reconciler.objects.outcomes import Outcome

ConnectionState: TypeAlias = Literal["connected", "connecting", "lost", "misconfigured"]


@dataclass(frozen=True, slots=True)
class WorkerConnection:
    """The state of the connection to a worker.

    `connecting`: the worker was never reached since the process started or its kubeconfig changed.
    `misconfigured`: its kubeconfig cannot be used, or the worker refuses its credentials.
    `since`: the last transition (nanoseconds) of the condition Active of its MultiKueueCluster, as stored, so that a
        restart does not change it; 0 if there is none.
    `reason`, `message`: those of the condition.
    `attempts`: how many attempts to reach it failed in a row.
    `next_attempt`: when the next one is due (nanoseconds); 0 if none is.
    """

    state: ConnectionState
    reason: str = ""
    message: str = ""
    since: int = 0
    attempts: int = 0
    next_attempt: int = 0

    @property
    def connected(self) -> bool:
        return self.state == "connected"


@dataclass(frozen=True, slots=True)
class SecretSource:
    """A Secret in the manager's own namespace."""

    name: str


@dataclass(frozen=True, slots=True)
class PathSource:
    """A file in the manager's container."""

    path: str


@dataclass(frozen=True, slots=True)
class ProfileSource:
    """A ClusterProfile in the manager's own namespace."""

    name: str


Source: TypeAlias = SecretSource | PathSource | ProfileSource


@dataclass(frozen=True, slots=True)
class WorkerActivity:
    """The stored condition Active; `since` (nanoseconds) is its last transition, 0 if there is none."""

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
    """News of a worker: of an object, of a write, or of its connection; None: the worker is not configured any more.

    After a connection is opened, the lists of all kinds arrive before it is reported as connected. While it is lost,
    the objects stay as last observed; the next lists update them.
    """

    cluster: str
    news: Observed[object] | Listed | Outcome | WorkerConnection | None


@dataclass(frozen=True, slots=True)
class WorkerWrite:
    """Execute the action on a worker; the result is an Outcome, Failed if the worker cannot be reached."""

    cluster: str
    key: Key
    action: Action


@dataclass(frozen=True, slots=True)
class FollowWorker:
    """Connect to the worker with the kubeconfig from this source, again whenever it changes."""

    cluster: str
    source: Source | None


@dataclass(frozen=True, slots=True)
class WorkerCondition:
    """The condition Active of its MultiKueueCluster is stored like this; it tells since when a connection is lost."""

    cluster: str
    active: WorkerActivity


@dataclass(frozen=True, slots=True)
class DropWorker:
    """The worker is not configured any more."""

    cluster: str


WorkerCommand: TypeAlias = WorkerWrite | FollowWorker | WorkerCondition | DropWorker
