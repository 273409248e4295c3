"""Reads a cluster once: all objects of the kinds that rules or decisions read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from cluster.client import ClusterClient
from cluster.resource import PODS
from cluster.sources import NODES_ONCE, WatchSource, at_work, sources
from cluster.store import load as read_all
from policies.configuration.settings import YuniKornSettings
from policies.dialects.core import POD, VOLCANO_SCHEDULER
from policies.dialects.reading import Manifest, identity
from policies.model.forest import Forest
from policies.model.objects import GroupKind, Ref
from reconciler.objects.watched import DEVICE_VIEWS, WATCHED_KINDS

Keep = Callable[[Ref, Manifest], None]
"""A function that is called with each object, to keep the parts that the caller needs."""


def followed(cluster: ClusterClient, following: Iterable[WatchSource], keep: Keep) -> Forest:
    """Read all objects of these kinds once. `keep`: called with each manifest. Raises ClusterError."""
    return read_all(cluster, [_noticed(source, keep) for source in following])


def read_kinds(yunikorn: YuniKornSettings | None = None) -> list[WatchSource]:
    """The kinds that rules or decisions read, and the Pods of Volcano."""
    followed = [*sources(yunikorn), NODES_ONCE]
    kinds = {source.kind for source in followed}
    watched = [(GroupKind(each.resource.group, each.kind), each.resource) for each in (*WATCHED_KINDS, *DEVICE_VIEWS)]
    if POD in kinds:  # otherwise the snapshot would seem to have all Pods of YuniKorn
        followed.append(WatchSource(POD, (PODS,), where=at_work(VOLCANO_SCHEDULER)))
    return followed + [WatchSource(kind, (resource,)) for kind, resource in watched if kind not in kinds]


def _noticed(source: WatchSource, keep: Keep) -> WatchSource:
    """The source, which also passes each manifest to `keep`, so that the cluster is read only once."""
    trim, namespaced = source.trim, source.versions[0].namespaced

    def note(manifest: dict[str, Any]) -> dict[str, Any]:
        keep(identity(manifest, source.kind, namespaced), manifest)
        return trim(manifest) if trim else manifest

    return replace(source, trim=note)
