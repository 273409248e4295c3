"""What passes between the placement of workloads and the connections to the worker clusters.

The placement lives in the loop's thread; connections have threads of their own and hand news over as a `Call`.
A worker is named by its MultiKueueCluster.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeAlias

from cluster.actions import Action
from cluster.resource import NAMESPACES
from policies.dialects.kueue_kinds import PREFIX
from reconciler.feed import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES, Followed, Key, Listed, Seen, by_kind
from reconciler.multikueue.remote_objects import (
    read_remote_cluster_queue,
    read_remote_local_queue,
    read_remote_namespace,
)
from reconciler.writer import Outcome
from scheduling.objects.queue_settings import read_cohort_settings

ORIGIN = f"{PREFIX}multikueue-origin"
"""The label of every object that a manager made on a worker; its value tells managers apart."""

ConnectionState: TypeAlias = Literal["connected", "connecting", "lost", "misconfigured"]


@dataclass(frozen=True, slots=True)
class Connection:
    """How a worker can be reached.

    `connecting`: it was never reached since the process started or its kubeconfig changed. `misconfigured`: its
    kubeconfig cannot be used, or the worker refuses its credentials. `since` (nanoseconds) is the transition of the
    condition Active of its MultiKueueCluster as it is stored, so that no restart changes it; 0 where it was never told.
    `reason` and `message` are those of the condition.
    """

    state: ConnectionState
    reason: str = ""
    message: str = ""
    since: int = 0

    @property
    def connected(self) -> bool:
        return self.state == "connected"


class Remotes(Protocol):
    """The connections, as the placement asks them. `write` returns at once; its outcome comes by `News`.

    At most one write for a (worker, key) is under way, which the caller sees to. A worker that cannot be reached
    answers with `Failed`, as does one whose connection is closed meanwhile.
    """

    def write(self, cluster: str, key: Key, action: Action) -> None: ...


class News(Protocol):
    """What the connections tell, each in the loop's thread.

    After a connection is made, `remote_listed` of every kind comes before it is said to be connected; while it is lost
    what was seen last stays as it is, and is told anew by the next lists.
    """

    def remote_seen(self, cluster: str, seen: Seen) -> None: ...

    def remote_listed(self, cluster: str, listed: Listed) -> None: ...

    def remote_outcome(self, cluster: str, outcome: Outcome) -> None: ...

    def connection(self, cluster: str, connection: Connection | None) -> None:
        """None: the MultiKueueCluster is gone."""


@dataclass(frozen=True, slots=True)
class RemoteFollowed:
    """The kinds that are followed on each worker: `ours` by the origin label, `queues` all of them."""

    ours: tuple[Followed, ...]
    queues: tuple[Followed, ...] = field(default=())

    @property
    def kinds(self) -> tuple[Followed, ...]:
        return (*self.queues, *self.ours)


def remote_followed(origin: str, jobs: Iterable[Followed]) -> RemoteFollowed:
    """What to follow on a worker: Workloads and jobs that this manager made, and what tells why it does not admit."""
    label = f"{ORIGIN}={origin}"
    ours = (by_kind()["Workload"], *jobs)
    queues = (
        Followed("Cohort", COHORTS, read_cohort_settings, _nothing, _nothing),
        Followed("ClusterQueue", CLUSTER_QUEUES, read_remote_cluster_queue, _nothing, _nothing),
        Followed("LocalQueue", LOCAL_QUEUES, read_remote_local_queue, _nothing, _nothing),
        Followed("Namespace", NAMESPACES, read_remote_namespace, _nothing, _nothing),
    )
    return RemoteFollowed(tuple(replace(each, labelled=label) for each in ours), queues)


def _nothing(*_: object) -> None:
    """Objects of workers are none of the manager's world."""
