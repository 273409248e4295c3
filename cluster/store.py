"""The quota objects of one cluster as a Forest that follows the API server."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Protocol

from cluster.client import Cluster
from cluster.errors import ClusterError, NotFound
from cluster.reflector import ChangeKind, Pacing, Reflector
from cluster.resource import NAMESPACES, Resource
from cluster.stream import Manifest
from policies.dialects import core, group_kind, kueue, read, volcano
from policies.dialects.kueue_kinds import ADMISSION_CHECK
from policies.forest import Forest
from policies.objects import GroupKind, KubeObject

log = logging.getLogger(__name__)

_CLOSING = 5.0  # seconds for all reflectors together; one that hangs in a connection attempt is left behind


def _kueue(plural: str, *versions: str, namespaced: bool = False) -> tuple[Resource, ...]:
    return tuple(Resource(kueue.GROUP, version, plural, namespaced) for version in versions)


FOLLOWED: Mapping[GroupKind, tuple[Resource, ...]] = {
    kueue.COHORT: _kueue("cohorts", "v1beta2", "v1beta1", "v1alpha1"),
    kueue.CLUSTER_QUEUE: _kueue("clusterqueues", "v1beta2", "v1beta1"),
    kueue.LOCAL_QUEUE: _kueue("localqueues", "v1beta2", "v1beta1", namespaced=True),
    kueue.RESOURCE_FLAVOR: _kueue("resourceflavors", "v1beta2", "v1beta1"),
    ADMISSION_CHECK: _kueue("admissionchecks", "v1beta2", "v1beta1"),
    volcano.QUEUE: (Resource(volcano.GROUP, "v1beta1", "queues", namespaced=False),),
    volcano.POD_GROUP: (Resource(volcano.GROUP, "v1beta1", "podgroups", namespaced=True),),
    volcano.JOB: (Resource(volcano.JOB.group, "v1alpha1", "jobs", namespaced=True),),
    core.NAMESPACE: (NAMESPACES,),
}
"""The kinds that rules read, each in the versions that its project serves or has served, the newest first."""


class World(Protocol):
    """What is known of the objects that a request does not carry."""

    def forest(self) -> Forest:
        """The present snapshot; costs nothing."""

    def ready(self) -> list[str]:
        """What is not known yet, in words; empty when everything is."""

    def age(self) -> float | None:
        """Seconds since the oldest of the sources was last heard; None where one never was."""

    def close(self) -> None:
        """Stop following; the last snapshot stays."""


class FixedWorld:
    """A world that never changes: the organisation of some files, for instance."""

    def __init__(self, forest: Forest) -> None:
        self._forest = forest

    def forest(self) -> Forest:
        return self._forest

    def ready(self) -> list[str]:
        return []

    def age(self) -> float | None:
        return 0.0

    def close(self) -> None:
        """There is nothing to stop."""


class Store:
    """The Forest of a cluster, kept current by one reflector for each kind.

    Readers take the present snapshot without a lock; a change makes a new snapshot under one. A kind whose CRD is not
    installed is known to have no objects.
    """

    def __init__(self, pacing: Pacing | None = None) -> None:
        self._pacing = pacing
        self._forest = Forest()
        self._writing = threading.Lock()
        self._reflectors: dict[GroupKind, Reflector[KubeObject | None]] = {}
        self._starting = threading.Lock()
        self._closed = False

    def start(self, cluster: Cluster) -> None:
        """Begin to follow; returns at once, whether or not the API server answers. `ready` tells how far it is."""
        threading.Thread(target=self._start, args=(cluster,), name="store", daemon=True).start()

    def forest(self) -> Forest:
        return self._forest

    def ready(self) -> list[str]:
        return [lack for kind in FOLLOWED if (lack := self._lack(kind))]

    def age(self) -> float | None:
        reflectors = [self._reflectors.get(kind) for kind in FOLLOWED]
        ages = [reflector.age for reflector in reflectors if reflector is not None]
        known = [age for age in ages if age is not None]
        return max(known) if len(known) == len(FOLLOWED) else None

    def close(self) -> None:
        with self._starting:
            self._closed = True
        for reflector in self._reflectors.values():
            reflector.stop(timeout=0)  # all are told before any is waited for
        end = time.monotonic() + _CLOSING
        for reflector in self._reflectors.values():
            reflector.stop(timeout=max(0.0, end - time.monotonic()))

    def _start(self, cluster: Cluster) -> None:
        for kind, candidates in FOLLOWED.items():
            reflector = self._reflector(kind, cluster, _newest(cluster, candidates))
            with self._starting:
                if self._closed:
                    return
                self._reflectors[kind] = reflector
                reflector.start()

    def _reflector(self, kind: GroupKind, cluster: Cluster, resource: Resource) -> Reflector[KubeObject | None]:
        return Reflector(
            cluster,
            resource,
            lambda change, thing, _: self._change(change, thing),
            on_replace=lambda things, _: self._replace(kind, things),
            keep=_keep,
            pacing=self._pacing,
        )

    def _lack(self, kind: GroupKind) -> str:
        reflector = self._reflectors.get(kind)
        if reflector is not None and reflector.synced.is_set():
            return ""
        return f"{kind.kind}: {(reflector and reflector.last_error) or 'not listed yet'}"

    def _replace(self, kind: GroupKind, things: tuple[KubeObject | None, ...]) -> None:
        """These are all objects of the kind: what else there was of it is gone."""
        found = {thing.ref: thing for thing in things if thing is not None}
        with self._writing:
            forest = self._forest
            gone = [thing.ref for thing in forest.objects() if thing.ref.group_kind == kind and thing.ref not in found]
            self._forest = forest.drop_all(gone).put_all(found.values()).knowing([kind])

    def _change(self, change: ChangeKind, thing: KubeObject | None) -> None:
        if thing is None:
            return
        with self._writing:
            self._forest = self._forest.drop(thing.ref) if change == "DELETED" else self._forest.put(thing)


def _newest(cluster: Cluster, candidates: tuple[Resource, ...]) -> Resource:
    """The newest version that is served; the newest of all where none is, or where the API server does not answer."""
    if len(candidates) == 1:
        return candidates[0]
    try:
        return next(filter(cluster.served, candidates), candidates[0])
    except ClusterError as error:
        log.warning("%s is followed, whether served or not: %s", candidates[0], error)
        return candidates[0]


def load(cluster: Cluster) -> Forest:
    """Everything that a Store would hold, read once. Raises ClusterError."""
    things: list[KubeObject] = []
    for candidates in FOLLOWED.values():
        things += _listed(cluster, candidates)
    return Forest.of(things, known=FOLLOWED)


def _listed(cluster: Cluster, candidates: Iterable[Resource]) -> list[KubeObject]:
    """All objects of the kind in the newest version that is served; none where the CRD is not installed."""
    for resource in candidates:
        try:
            things = cluster.snapshot(resource, _keep).items
        except NotFound:
            continue
        return [thing for thing in things if thing is not None]
    return []


def _keep(manifest: Manifest) -> KubeObject | None:
    """The typed object, without the rest of its manifest. Defects travel with it.

    Dialects read anything; if one fails all the same, this object is left out rather than all of its kind.
    """
    try:
        return read(manifest)
    except Exception:
        name = (manifest.get("metadata") or {}).get("name")
        log.exception("%s %r cannot be read and is left out", group_kind(manifest).kind, name)
        return None
