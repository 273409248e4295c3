"""A cluster as the reconciler would know it, read once: for those who have no reconciler to ask."""

from __future__ import annotations

import time
from dataclasses import replace

from cluster.client import Cluster
from cluster.errors import NotFound
from reconciler.core.core import Core
from reconciler.core.state import ClusterState
from reconciler.core.watched import WatchedKind, watched_kinds
from reconciler.objects.observed import Listed
from reconciler.process import Settings
from scheduling.world.world import World


def snapshot(cluster: Cluster, settings: Settings | None = None) -> World:
    """All that decisions go by, as it is now; nothing is decided. Raises ClusterError.

    A kind whose CustomResourceDefinition is not installed counts as one without objects.
    """
    settings = settings or Settings()
    world = World(settings.options, settings.ordering, settings.counting)
    core = Core(ClusterState(world), waiting=settings.waiting)
    watched = watched_kinds(boosted=settings.ordering.boosted)
    core.handle((_listed(cluster, replace(each, detail=None)) for each in watched), time.time_ns())
    return world


def _listed(cluster: Cluster, watched: WatchedKind) -> Listed:
    try:
        found = cluster.snapshot(watched.resource, watched.observed, label_selector=watched.label_selector)
    except NotFound:
        return Listed(watched.kind, ())
    return Listed(watched.kind, found.items, found.resource_version)
