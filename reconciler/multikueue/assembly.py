"""MultiKueue as a process runs it: where kubeconfigs come from, and the connections to workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from cluster.actions import Action
from cluster.client import ClusterClient
from reconciler.multikueue.connections import Connections
from reconciler.multikueue.remote import remote_kinds
from reconciler.multikueue.sources import KubeconfigSources, Sources
from reconciler.multikueue.worker_session import Pulse
from reconciler.objects.observed import Key
from reconciler.objects.watched import WatchedKind
from reconciler.objects.workers import FromWorker, Source, WorkerActivity
from reconciler.shell.call import Call
from scheduling.placement.settings import PlacementSettings


@dataclass(frozen=True, slots=True)
class MultiKueueSettings:
    """`kept`: where kubeconfigs may be. `pulse`: how workers are looked after."""

    kept: KubeconfigSources
    placing: PlacementSettings = field(default_factory=PlacementSettings)
    pulse: Pulse = field(default_factory=Pulse)


class MultiKueueRunner:
    """Carries out what the core asks of workers. `post` puts into the inbox of the loop that owns the core.

    `watched` are the kinds of jobs, and Pods, that can run on workers.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        settings: MultiKueueSettings,
        post: Callable[[Call | FromWorker], None],
        may_write: Callable[[], bool],
        watched: Iterable[WatchedKind[object]],
    ) -> None:
        kinds = remote_kinds(settings.placing.origin, watched)
        self.connections = Connections(post, post, kinds, may_write, settings.pulse)
        self._sources = Sources(cluster, settings.kept, post, self.connections.offer, self.connections.tick)

    def start(self) -> None:
        """Begin to look at files and at what is to be tried again."""
        self._sources.start()

    def stop(self) -> None:
        """End with the loop; what is in flight to a worker is abandoned."""
        self._sources.stop()
        self.connections.close()

    # --- what the loop asks for, in its thread

    def write(self, cluster: str, key: Key, action: Action) -> None:
        self.connections.write(cluster, key, action)

    def follow(self, cluster: str, source: Source | None) -> None:
        self._sources.follow(cluster, source)

    def stored(self, cluster: str, active: WorkerActivity) -> None:
        self.connections.stored(cluster, active)

    def drop(self, cluster: str) -> None:
        self._sources.drop(cluster)
        self.connections.drop(cluster)
