"""Values for worker clusters: sources of kubeconfigs, states of connections, commands and reports."""

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

    `state`: `connecting` if the worker was never reached since the process started or began to lead, or since its
        kubeconfig changed;
        `misconfigured` if its kubeconfig cannot be used, or the worker refuses its credentials.
    `reason`, `message`: those of the condition Active of its MultiKueueCluster.
    `since`: the last transition of that condition as it is stored (nanoseconds), so that a restart does not change it;
        0 if there is none.
    `attempts`: how many attempts in a row have failed.
    `next_attempt`: when the next attempt is due (nanoseconds); 0 if there is none.
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
    """The condition Active as it is stored. `since`: its last transition (nanoseconds); 0 if there is none."""

    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    since: int = 0

    @property
    def holds(self) -> bool:
        return self.status == "True"

    # --- reports and commands


@dataclass(frozen=True, slots=True)
class FromWorker:
    """A report about a worker: on an object, a write or its connection. None: the worker is not configured any more.

    After a connection is opened, the lists of all kinds are reported before the state `connected`. While the connection
    is lost, the objects stay as last observed; the next lists update them.
    """

    cluster: str
    news: Observed[object] | Listed | Outcome | WorkerConnection | None


@dataclass(frozen=True, slots=True)
class WorkerWrite:
    """Execute the action on a worker. The result is an Outcome: Failed if the worker cannot be reached."""

    cluster: str
    key: Key
    action: Action


@dataclass(frozen=True, slots=True)
class FollowWorker:
    """Connect to the worker with the kubeconfig from this source, and again whenever the kubeconfig changes."""

    cluster: str
    source: Source | None


@dataclass(frozen=True, slots=True)
class WorkerCondition:
    """The stored condition Active of the worker's MultiKueueCluster. It shows when the connection was lost."""

    cluster: str
    active: WorkerActivity


@dataclass(frozen=True, slots=True)
class RenewWorker:
    """Connect to the worker anew, so that everything on it is listed: another process may have written there."""

    cluster: str


@dataclass(frozen=True, slots=True)
class DropWorker:
    """The worker is not configured any more."""

    cluster: str


WorkerCommand: TypeAlias = WorkerWrite | FollowWorker | WorkerCondition | RenewWorker | DropWorker
