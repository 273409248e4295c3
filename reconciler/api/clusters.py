"""The worker clusters of MultiKueue, as the loop knows them."""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.controllers.clusters import ClustersController
from reconciler.controllers.placement import PlacementController
from reconciler.core.core import Core
from reconciler.multikueue.cluster_list import ClusterReading, read


def clusters(core: Core) -> ClusterReading:
    """Read in the loop's thread. Empty if MultiKueue is off."""
    controllers = [controller for controller in core.controllers if isinstance(controller, ClustersController)]
    placement = _placement(core)
    caches = placement.caches if placement is not None else {}
    workers = {name: worker for controller in controllers for name, worker in controller.workers.items()}
    return read(workers, caches, core.state.world)


def dispatched(core: Core) -> Mapping[tuple[str, str], int]:
    """The number of Workloads that this process created on workers, by ClusterQueue and worker.

    Read in the loop's thread.
    """
    placement = _placement(core)
    known = core.state.world.state.queues
    counts = placement.dispatched if placement is not None else {}
    return {labels: count for labels, count in counts.items() if labels[0] in known}


def _placement(core: Core) -> PlacementController | None:
    return next((each for each in core.controllers if isinstance(each, PlacementController)), None)
