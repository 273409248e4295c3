"""A cluster as the reconciler would see it, read once: for callers without a reconciler to ask."""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from typing import Any

from cluster.client import ClusterClient
from cluster.errors import NotFound
from cluster.resource import Resource
from reconciler.core.core import Core
from reconciler.core.state import ClusterState
from reconciler.objects.observed import Listed, Observed
from reconciler.objects.watched import WatchedKind, watched_kinds
from reconciler.process import DecisionSettings
from scheduling.world.world import World


def snapshot(
    cluster: ClusterClient, settings: DecisionSettings | None = None, without: Container[Resource] = ()
) -> World:
    """All objects that decisions depend on, as they are now; nothing is decided. Raises ClusterError.

    A kind without an installed CustomResourceDefinition, or listed in `without`, counts as a kind without objects.
    """
    settings = settings or DecisionSettings()
    wanted = (each for each in _kinds(settings) if each.resource not in without)
    return _world((_listed(cluster, each) for each in wanted), settings)


def observed(cluster: ClusterClient, settings: DecisionSettings | None = None) -> Core:
    """A core with these objects, which /v1 can read; it decides nothing. Raises ClusterError."""
    settings = settings or DecisionSettings()
    return _core((_listed(cluster, each) for each in _kinds(settings)), settings)


def of_manifests(manifests: Iterable[Mapping[str, Any]], settings: DecisionSettings | None = None) -> World:
    """A World of manifests that were read before, in the API versions that the reconciler reads."""
    settings = settings or DecisionSettings()
    every = _kinds(settings)
    found: dict[str, list[Observed[object]]] = {each.kind: [] for each in every}
    kinds = {(f"{each.resource.group}/".lstrip("/") + each.resource.version, each.kind): each for each in every}
    for manifest in manifests:
        watched = kinds.get((str(manifest.get("apiVersion")), str(manifest.get("kind"))))
        if watched is not None:
            found[watched.kind].append(watched.observed(dict(manifest)))
    return _world((Listed(kind, tuple(objects)) for kind, objects in found.items()), settings)


def _kinds(settings: DecisionSettings) -> tuple[WatchedKind[object], ...]:
    watched = watched_kinds(boosted=settings.ordering.boosted, orchestrated=settings.options.orchestrated)
    return tuple(replace(each, detail=None) for each in watched)


def _world(listed: Iterable[Listed], settings: DecisionSettings) -> World:
    return _core(listed, settings).state.world


def _core(listed: Iterable[Listed], settings: DecisionSettings) -> Core:
    core = Core(ClusterState(World(settings.options, settings.ordering, settings.counting)), waiting=settings.waiting)
    core.handle(listed, time.time_ns())
    return core


def _listed(cluster: ClusterClient, watched: WatchedKind[object]) -> Listed:
    try:
        found = cluster.snapshot(watched.resource, watched.observed, label_selector=watched.label_selector)
    except NotFound:
        return Listed(watched.kind, ())
    return Listed(watched.kind, found.items, found.resource_version)
