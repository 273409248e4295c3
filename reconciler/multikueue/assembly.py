"""Assembles MultiKueue for a process: the sources of kubeconfigs, and the connections to workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from cluster.client import ClusterClient
from reconciler.multikueue.connections import Connections
from reconciler.multikueue.remote import remote_kinds
from reconciler.multikueue.sources import KubeconfigSources, Sources
from reconciler.multikueue.worker_session import Pulse
from reconciler.objects.watched import WatchedKind
from reconciler.objects.workers import (
    DropWorker,
    FollowWorker,
    FromWorker,
    RenewWorker,
    WorkerCommand,
    WorkerCondition,
    WorkerWrite,
)
from reconciler.shell.call import Call
from scheduling.placement.settings import PlacementSettings


@dataclass(frozen=True, slots=True)
class MultiKueueSettings:
    """The settings of MultiKueue.

    `kept`: which sources of kubeconfigs are allowed.
    `placing`: how workloads are placed.
    `pulse`: how connections to workers are checked.
    `counted`: whether the condition of a MultiKueueCluster shows the number of failed attempts.
    """

    kept: KubeconfigSources
    placing: PlacementSettings = field(default_factory=PlacementSettings)
    pulse: Pulse = field(default_factory=Pulse)
    counted: bool = False


class MultiKueueRunner:
    """Executes the core's commands about workers.

    `post`: puts a message into the inbox of the loop.
    `may_write`: returns whether this process may write.
    `watched`: the views of jobs and Pods that can run on workers.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        settings: MultiKueueSettings,
        post: Callable[[Call | FromWorker], None],
        may_write: Callable[[], bool],
        watched: Iterable[WatchedKind[object]],
    ) -> None:
        kinds = remote_kinds(settings.placing.origin, watched, orchestrated=settings.placing.orchestrated)
        self.connections = Connections(post, post, kinds, may_write, settings.pulse)
        self._sources = Sources(cluster, settings.kept, post, self.connections.offer, self.connections.tick)

    def start(self) -> None:
        self._sources.start()

    def stop(self) -> None:
        """Stop. Requests in flight to workers are abandoned."""
        self._sources.stop()
        self.connections.close()

    def execute(self, command: WorkerCommand) -> None:
        """Execute a command of the core. Call this in the loop's thread."""
        match command:
            case WorkerWrite():
                self.connections.write(command.cluster, command.key, command.action)
            case FollowWorker():
                self._sources.follow(command.cluster, command.source)
            case WorkerCondition():
                self.connections.stored(command.cluster, command.active)
            case RenewWorker():
                self.connections.renew(command.cluster)
            case DropWorker():
                self._sources.drop(command.cluster)
                self.connections.drop(command.cluster)
