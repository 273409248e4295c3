"""A cluster as the reconciler would know it, read once: for those who want to know and have no reconciler to ask."""

from __future__ import annotations

from dataclasses import replace

from cluster.client import Cluster
from cluster.errors import NotFound
from reconciler.feed import FOLLOWED, Followed, Key, Listed
from reconciler.loop import Loop
from reconciler.process import Settings
from scheduling.world.world import World


def snapshot(cluster: Cluster, settings: Settings | None = None) -> World:
    """All that decisions go by, as it is now; nothing is decided. Raises ClusterError.

    A kind whose CustomResourceDefinition is not installed counts as one without objects.
    """
    settings = settings or Settings()
    world = World(settings.options, settings.ordering, settings.counting)
    loop = Loop(world, _never, _never, lambda: False, sides=(), waiting=settings.waiting, with_statuses=False)
    for followed in FOLLOWED:
        loop.inbox.put(_listed(cluster, replace(followed, aside=None)))
    loop.round(patience=0)
    return world


def _listed(cluster: Cluster, followed: Followed) -> Listed:
    try:
        found = cluster.snapshot(followed.resource, followed.seen, label_selector=followed.labelled)
    except NotFound:
        return Listed(followed.kind, ())
    return Listed(followed.kind, found.items, found.resource_version)


def _never(key: Key, _: object) -> None:
    raise AssertionError(f"{key} is only looked at")
