"""Reads the worker clusters of MultiKueue from the core. Call these functions in the loop's thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from reconciler.controllers.clusters import ClustersController
from reconciler.controllers.placement import PlacementController
from reconciler.core.controller import find
from reconciler.core.core import Core
from reconciler.multikueue.cluster_list import ClusterReading, read

Labels = TypeVar("Labels", bound=tuple[str, ...])


def clusters(core: Core) -> ClusterReading:
    """The workers; empty if MultiKueue is off."""
    controller, placement = find(core.controllers, ClustersController), find(core.controllers, PlacementController)
    caches = placement.caches if placement is not None else {}
    return read(controller.workers if controller is not None else {}, caches, core.state.world)


def dispatched(core: Core) -> Mapping[tuple[str, str], int]:
    """The number of Workloads that this process created on workers, by ClusterQueue and worker."""
    placement = find(core.controllers, PlacementController)
    return _of_known_queues(core, placement.dispatched) if placement is not None else {}


def evicted_there(core: Core) -> Mapping[tuple[str, str, str], int]:
    """The number of evictions on workers, by ClusterQueue, worker and reason."""
    placement = find(core.controllers, PlacementController)
    return _of_known_queues(core, placement.evicted_there) if placement is not None else {}


def worker_statuses(core: Core) -> Mapping[tuple[str, str], str]:
    """The status of the worker's condition Active, by ClusterQueue and worker.

    Workers without a MultiKueueCluster are omitted.
    """
    placement = find(core.controllers, PlacementController)
    if placement is None:
        return {}
    found: dict[tuple[str, str], str] = {}
    for queue in core.state.world.state.queues.values():
        for name in placement.snapshot.named_by(use.name for use in queue.settings.checks):
            cluster = placement.snapshot.clusters.get(name)
            if cluster is not None:
                found[queue.name, name] = cluster.active.status
    return found


def _of_known_queues(core: Core, counts: Mapping[Labels, int]) -> dict[Labels, int]:
    known = core.state.world.state.queues
    return {labels: count for labels, count in counts.items() if labels[0] in known}
