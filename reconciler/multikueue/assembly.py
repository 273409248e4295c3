"""MultiKueue as one running thing: where kubeconfigs come from, the connections to workers, and what goes by both."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from cluster.client import Cluster
from reconciler.call import Call
from reconciler.feed import Followed
from reconciler.jobs.kind import JobKind
from reconciler.multikueue.clusters_side import ClustersSide
from reconciler.multikueue.connections import Connections
from reconciler.multikueue.line import Pulse
from reconciler.multikueue.pods import REMOTE_PODS
from reconciler.multikueue.remote import remote_followed
from reconciler.multikueue.side import PlacementSide
from reconciler.multikueue.sources import Kept, Sources
from reconciler.side import Look, MakeSide
from scheduling.placement.settings import PlacementSettings


@dataclass(frozen=True, slots=True)
class MultiKueueSettings:
    """`kept`: where kubeconfigs may be. `pulse`: how workers are looked after."""

    kept: Kept
    placing: PlacementSettings = field(default_factory=PlacementSettings)
    pulse: Pulse = field(default_factory=Pulse)


class MultiKueue:
    """`jobs` are the kinds that can run on workers, with what the loop follows of them; `pods`: Pods as well.

    `sides` are for the loop that empties the inbox of `post`.
    """

    def __init__(
        self,
        cluster: Cluster,
        settings: MultiKueueSettings,
        post: Callable[[Call], None],
        may_write: Callable[[], bool],
        jobs: Iterable[tuple[JobKind, Followed]],
        *,
        pods: bool = False,
    ) -> None:
        self._jobs, self._placing, self._pods = tuple(jobs), settings.placing, pods
        kinds = [followed for _, followed in self._jobs]
        followed = remote_followed(settings.placing.origin, [*kinds, *([REMOTE_PODS] if pods else [])])
        self.connections = Connections(post, followed, may_write, settings.pulse)
        self.sources = Sources(cluster, settings.kept, post, self.connections.offer, self.connections.tick)
        self.sides: tuple[MakeSide, ...] = (self._clusters, self._placement)

    def start(self) -> None:
        """Begin to look at files and at what is to be tried again."""
        self.sources.start()

    def stop(self) -> None:
        """End with the loop; what is under way on a worker is abandoned."""
        self.sources.stop()
        self.connections.close()

    def _clusters(self, _: Look) -> ClustersSide:
        return ClustersSide(self.connections, self.sources)

    def _placement(self, look: Look) -> PlacementSide:
        side = PlacementSide(look, self.connections, self._jobs, self._placing, pods=self._pods)
        self.connections.news = side
        return side
