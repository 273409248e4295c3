"""The workers of MultiKueue, as the loop knows them."""

from __future__ import annotations

from reconciler.controllers.clusters import ClustersController
from reconciler.controllers.placement import PlacementController
from reconciler.core.core import Core
from reconciler.multikueue.cluster_list import Read, read


def clusters(core: Core) -> Read:
    """Read in the loop's thread; no workers where MultiKueue is off."""
    controllers = [controller for controller in core.controllers if isinstance(controller, ClustersController)]
    caches = next(
        (controller.caches for controller in core.controllers if isinstance(controller, PlacementController)), {}
    )
    workers = {name: worker for controller in controllers for name, worker in controller.workers.items()}
    return read(workers, caches, core.state.world)
