"""The workers of MultiKueue, as the loop knows them."""

from __future__ import annotations

from reconciler.loop import Loop
from reconciler.multikueue.clusters_side import ClustersSide
from reconciler.multikueue.side import PlacementSide
from reconciler.multikueue.told import Read, read


def clusters(loop: Loop) -> Read:
    """Read in the loop's thread; no workers where MultiKueue is off."""
    sides = [side for side in loop.beside if isinstance(side, ClustersSide)]
    views = next((side.views for side in loop.beside if isinstance(side, PlacementSide)), {})
    workers = {name: worker for side in sides for name, worker in side.workers.items()}
    return read(workers, views, loop.world)
