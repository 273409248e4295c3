"""Reads a cluster once, in the way in which the reconciler would see it. For programs without a running reconciler."""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from typing import Any

from cluster.client import ClusterClient
from cluster.errors import Forbidden, NotFound
from cluster.resource import Resource
from reconciler.core.core import Core
from reconciler.core.state import ClusterState
from reconciler.objects.node_use import NodeUse, is_known, pods_of, use_of
from reconciler.objects.observed import Listed, Observed
from reconciler.objects.topology_views import NODE_VIEW, POD_ON_NODE_VIEW, TOPOLOGY_VIEW, PodOnNode
from reconciler.objects.watched import WatchedKind, watched_kinds
from reconciler.process import DecisionSettings, fleet_of
from scheduling.world.world import World


def snapshot(
    cluster: ClusterClient, settings: DecisionSettings | None = None, without: Container[Resource] = ()
) -> World:
    """A World with all objects that decisions depend on. Nothing is decided. Raises ClusterError.

    If a kind has no CustomResourceDefinition or is listed in `without`, it counts as a kind without objects.
    """
    return _read(cluster, settings or DecisionSettings(), without).state.world


def observed(cluster: ClusterClient, settings: DecisionSettings | None = None) -> Core:
    """A core with all these objects, for the responses of /v1. It decides nothing. Raises ClusterError."""
    return _read(cluster, settings or DecisionSettings())


def of_manifests(manifests: Iterable[Mapping[str, Any]], settings: DecisionSettings | None = None) -> World:
    """A World of given manifests, which must have the API versions that the reconciler reads.

    Places in topologies are known only if each Node has the usage of other Pods; see `reconciler.objects.node_use`.
    """
    manifests = list(manifests)
    nodes = [each for each in map(dict, manifests) if (each.get("apiVersion"), each.get("kind")) == ("v1", "Node")]
    settings = settings or DecisionSettings()
    settings = settings if is_known(nodes) else replace(settings, topologies=None)
    every = _kinds(settings)
    found: dict[str, list[Observed[object]]] = {each.kind: [] for each in every}
    kinds = {(f"{each.resource.group}/".lstrip("/") + each.resource.version, each.kind): each for each in every}
    for manifest in manifests:
        watched = kinds.get((str(manifest.get("apiVersion")), str(manifest.get("kind"))))
        if watched is not None:
            found[watched.kind].append(watched.observed(dict(manifest)))
    core = _core((Listed(kind, tuple(objects)) for kind, objects in found.items()), settings)
    if core.state.world.state.fleet is not None and core.state.world.has_topologies:
        on_nodes = (
            Listed(NODE_VIEW.kind, tuple(map(NODE_VIEW.observed, nodes))),
            Listed(POD_ON_NODE_VIEW.kind, tuple(pods_of(nodes))),
        )
        core.handle(on_nodes, time.time_ns())
    return core.state.world


def use_on_nodes(cluster: ClusterClient) -> NodeUse:
    """The usage of Nodes by Pods outside topologies. Raises ClusterError."""
    listed = _listed(cluster, replace(POD_ON_NODE_VIEW, detail=None))
    return use_of(each.value for each in listed.objects if isinstance(each.value, PodOnNode))


def _kinds(settings: DecisionSettings) -> tuple[WatchedKind[object], ...]:
    watched = watched_kinds(
        boosted=settings.ordering.boosted,
        orchestrated=settings.options.orchestrated,
        devices=settings.counting.devices.counted,
    )
    placing = (TOPOLOGY_VIEW,) if settings.topologies is not None else ()
    return tuple(replace(each, detail=None) for each in (*watched, *placing))


def _read(cluster: ClusterClient, settings: DecisionSettings, without: Container[Resource] = ()) -> Core:
    """Nodes and their Pods are read only if a flavor has a topology, and the caller may list them."""
    wanted = [each for each in _kinds(settings) if each.resource not in without]
    listed = [_listed(cluster, each) for each in wanted]
    core = _core(listed, settings)
    if not core.state.world.has_topologies:
        return core
    try:
        on_nodes = [_listed(cluster, replace(each, detail=None)) for each in (NODE_VIEW, POD_ON_NODE_VIEW)]
    except Forbidden:
        return _core(listed, replace(settings, topologies=None))
    core.handle(on_nodes, time.time_ns())
    return core


def _core(listed: Iterable[Listed], settings: DecisionSettings) -> Core:
    world = World(settings.options, settings.ordering, settings.counting, fleet=fleet_of(settings))
    core = Core(ClusterState(world), waiting=settings.waiting)
    core.handle((each for each in listed if each.kind in core.informer.watched), time.time_ns())
    return core


def _listed(cluster: ClusterClient, watched: WatchedKind[object]) -> Listed:
    try:
        found = cluster.snapshot(
            watched.resource,
            watched.observed,
            label_selector=watched.label_selector,
            field_selector=watched.field_selector,
        )
    except NotFound:
        return Listed(watched.kind, ())
    return Listed(watched.kind, found.items, found.resource_version)
