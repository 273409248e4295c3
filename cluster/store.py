"""The quota objects of one cluster as a Forest that follows the API server."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, Protocol

from cluster.access import KEPT, ExpiringCache
from cluster.client import ClusterClient
from cluster.errors import Forbidden, NotFound
from cluster.reflector import ChangeKind, Pacing, Reflector
from cluster.resource import Manifest, Resource
from cluster.reviews import Access, Caller, may
from cluster.sightings import Sighting, Sightings, Snapshot, sighting
from cluster.sources import UnreadableObject, WatchSource, sources
from policies.model.forest import Forest
from policies.model.objects import GroupKind, KubeObject, Ref

log = logging.getLogger(__name__)

_CLOSING = 5.0  # seconds for all reflectors together; one that hangs in a connection attempt is abandoned
_RIGHTS = 1024
"""The most rights of callers that are remembered."""
_NAMED = 3  # unreadable objects that `ready` names; the rest are counted

Kept = KubeObject | UnreadableObject | None
"""The cached form of a manifest; None if the manifest has no quota."""


class FoundManifest(NamedTuple):
    """The cached form of a manifest, with its UID and resource version."""

    kept: Kept
    seen: Sighting


class ManifestCache(Protocol):
    """A cache of the cluster's objects, for decisions about a request that carries only one of them."""

    def forest(self) -> Forest:
        """The current forest. The call is cheap."""

    def snapshot(self) -> Snapshot:
        """The state of the store, with the versions of its objects."""

    def ready(self) -> list[str]:
        """Why the cache is not ready, one sentence each; empty if it is."""

    def age(self) -> float | None:
        """Seconds since the last response for the source that waits longest; None if a source never had a response."""

    def look(self, ref: Ref) -> FoundManifest | None:
        """An object as it is stored now, read from the API server; None if it does not exist. Raises ClusterError."""

    def fetch(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        """An object of a kind that is not cached, read from the API server; None if it does not exist.

        Raises ClusterError.
        """

    def may(self, caller: Caller, access: Access) -> bool:
        """Whether the API server allows the access to `caller`; false if this process may not ask.

        Raises ClusterError.
        """

    def close(self) -> None:
        """Stop the watches. The last snapshot remains available."""


class FixedCache:
    """A cache that never changes, for example of files."""

    def __init__(self, forest: Forest, sightings: Sightings | None = None) -> None:
        self._forest = forest
        self._sightings = sightings or Sightings()

    def forest(self) -> Forest:
        return self._forest

    def snapshot(self) -> Snapshot:
        return Snapshot(self._forest, self._sightings)

    def ready(self) -> list[str]:
        return []

    def age(self) -> float | None:
        return 0.0

    def look(self, ref: Ref) -> FoundManifest | None:
        """Returns None: there is no API server behind this cache."""

    def fetch(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        """Returns None: there is no API server behind this cache."""

    def may(self, caller: Caller, access: Access) -> bool:
        """Returns false: there is no API server behind this cache."""
        del caller, access
        return False

    def close(self) -> None:
        """Does nothing."""


class Store:
    """The Forest of a cluster, kept up to date by one reflector per source.

    Readers get the present snapshot without a lock. A change creates a new snapshot under a lock. A kind whose CRD is
    not installed counts as complete, without objects. A kind with an unreadable object counts as incomplete. For the
    kinds in `sighted`, the store also keeps the UID and the last resource version of each object.
    """

    def __init__(
        self,
        pacing: Pacing | None = None,
        following: Sequence[WatchSource] | None = None,
        sighted: frozenset[GroupKind] = frozenset(),
    ) -> None:
        self._pacing = pacing
        self._sources = sources() if following is None else tuple(following)
        self._sighted = sighted
        self._snapshot = Snapshot(Forest(), Sightings())
        self._listed: frozenset[WatchSource] = frozenset()
        self._unreadable: Mapping[Ref, UnreadableObject] = {}
        self._writing = threading.Lock()
        self._reflectors: dict[WatchSource, Reflector[FoundManifest]] = {}
        self._cluster: ClusterClient | None = None
        self._prompt: ClusterClient | None = None
        self._allowed: ExpiringCache[bool] = ExpiringCache(KEPT, _RIGHTS)

    def start(self, cluster: ClusterClient, prompt: ClusterClient | None = None) -> None:
        """Begin to follow; returns at once, even if the API server does not answer. `ready` shows the progress.

        `prompt`: a client with short timeouts for `look`, since callers wait for its result; by default `cluster`.
        """
        self._cluster = cluster
        self._prompt = prompt or cluster
        self._reflectors = {source: self._reflector(source, cluster) for source in self._sources}
        for reflector in self._reflectors.values():
            reflector.start()

    def forest(self) -> Forest:
        return self._snapshot.forest

    def snapshot(self) -> Snapshot:
        """The present snapshot with the versions of its objects. The call is cheap."""
        return self._snapshot

    def look(self, ref: Ref) -> FoundManifest | None:
        """The object as it is stored now, read from the API server; None if there is none. Raises ClusterError."""
        source = next((source for source in self._sources if source.covers(ref)), None)
        if source is None:
            return None
        assert self._prompt is not None, "the store must be started before lookups"
        selector = ",".join(filter(None, [f"metadata.name={ref.name}", source.where]))
        try:
            found = self._prompt.snapshot(
                self._reflectors[source].resource,
                lambda manifest: _found(source, manifest),
                namespace=ref.namespace or None,
                field_selector=selector,
                attempts=1,
            )
        except NotFound:
            return None
        return next(iter(found.items), None)

    def ready(self) -> list[str]:
        faults = list(self._unreadable.values())
        more = [f"and {len(faults) - _NAMED} more objects that cannot be read"] if len(faults) > _NAMED else []
        return [*self.lacking(), *map(str, faults[:_NAMED]), *more]

    def lacking(self) -> list[str]:
        """For each source without a complete list, a sentence with the reason."""
        return [lack for source in self._sources if (lack := self._missing_text(source))]

    def age(self) -> float | None:
        reflectors = [self._reflectors.get(source) for source in self._sources]
        ages = [reflector.age for reflector in reflectors if reflector is not None]
        known = [age for age in ages if age is not None]
        return max(known, default=0.0) if len(known) == len(self._sources) else None

    def fetch(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        if self._cluster is None:
            return None
        try:
            return self._cluster.get(resource.item(name, namespace))
        except NotFound:
            return None

    def may(self, caller: Caller, access: Access) -> bool:
        cluster = self._cluster
        return cluster is not None and self._allowed.get((caller, access), lambda: _may(cluster, caller, access))

    def close(self) -> None:
        for reflector in self._reflectors.values():
            reflector.stop(timeout=0)  # signal all before waiting for one
        end = time.monotonic() + _CLOSING
        for reflector in self._reflectors.values():
            reflector.stop(timeout=max(0.0, end - time.monotonic()))

    def _reflector(self, source: WatchSource, cluster: ClusterClient) -> Reflector[FoundManifest]:
        several = len(source.versions) > 1
        return Reflector(
            cluster,
            source.versions[0],
            lambda change, found, _: self._change(change, found),
            on_replace=lambda every, version: self._replace(source, every, version),
            keep=lambda manifest: _found(source, manifest),
            newest=partial(cluster.newest, source.versions) if several else None,
            namespace=source.namespace,
            field_selector=source.field_selector,
            pacing=self._pacing,
        )

    def _missing_text(self, source: WatchSource) -> str:
        reflector = self._reflectors.get(source)
        if reflector is not None and reflector.synced.is_set():
            return ""
        return f"{source}: {(reflector and reflector.last_error) or 'not listed yet'}"

    def _replace(self, source: WatchSource, every: tuple[FoundManifest, ...], version: str) -> None:
        found, faults = _sorted(each.kept for each in every)
        with self._writing:
            refs = [each.ref for each in self.forest().objects()]
            gone = [ref for ref in refs if source.covers(ref) and ref not in found]
            others = {ref: fault for ref, fault in self._unreadable.items() if not source.covers(ref)}
            self._listed |= {source}
            sightings = self._snapshot.sightings
            if source.kind in self._sighted:
                seen = {each.kept.ref: each.seen for each in every if each.kept is not None}
                unseen = {ref for ref in (*gone, *self._unreadable) if source.covers(ref)} - seen.keys()
                sightings = sightings.listed(source.scope, version, unseen, seen)
            forest = self.forest().drop_all(gone).put_all(found.values())
            self._publish(forest, sightings, {**others, **faults})

    def _change(self, change: ChangeKind, found: FoundManifest) -> None:
        kept, seen = found
        if kept is None:
            return
        with self._writing:
            faults = {ref: fault for ref, fault in self._unreadable.items() if ref != kept.ref}
            sightings, forest = self._snapshot.sightings, self.forest()
            if kept.ref.group_kind in self._sighted:
                note = sightings.drop if change == "DELETED" else sightings.put
                sightings = note(kept.ref, seen)
            if change == "DELETED":
                self._publish(forest.drop(kept.ref), sightings, faults)
            elif isinstance(kept, UnreadableObject):
                self._publish(forest.drop(kept.ref), sightings, {**faults, kept.ref: kept})
            else:
                self._publish(forest.put(kept), sightings, faults)

    def _publish(self, forest: Forest, sightings: Sightings, unreadable: Mapping[Ref, UnreadableObject]) -> None:
        """Set the next snapshot, with the kinds that are complete. The caller has the lock."""
        waiting = {source.kind for source in self._sources if source not in self._listed}
        known = frozenset(source.kind for source in self._sources) - waiting - _kinds(unreadable)
        self._unreadable = unreadable
        self._snapshot = Snapshot(forest if forest.known == known else replace(forest, known=known), sightings)


def _may(cluster: ClusterClient, caller: Caller, access: Access) -> bool:
    try:
        return may(cluster, caller, access)
    except Forbidden as error:
        log.warning("whether %s may %s is not known, so it counts as not allowed: %s", caller.name, access, error)
        return False


def _found(source: WatchSource, manifest: Manifest) -> FoundManifest:
    return FoundManifest(source.keep(manifest), sighting(manifest))


def _sorted(every: Iterable[Kept]) -> tuple[dict[Ref, KubeObject], dict[Ref, UnreadableObject]]:
    found: dict[Ref, KubeObject] = {}
    faults: dict[Ref, UnreadableObject] = {}
    for kept in every:
        if isinstance(kept, UnreadableObject):
            faults[kept.ref] = kept
        elif kept is not None:
            found[kept.ref] = kept
    return found, faults


def _kinds(refs: Iterable[Ref]) -> frozenset[GroupKind]:
    return frozenset(ref.group_kind for ref in refs)


def load(cluster: ClusterClient, following: Sequence[WatchSource] | None = None) -> Forest:
    """Read the Forest of a cluster once, without watching it. Raises ClusterError."""
    wanted = sources() if following is None else following
    read: dict[GroupKind, None] = {}
    every: list[Kept] = []
    for source in wanted:
        try:
            every += _listed(cluster, source)
        except Forbidden:
            if not source.optional:
                raise
            log.info("%s are not read: this caller may not list them", source)
        else:
            read[source.kind] = None
    found, faults = _sorted(every)
    return Forest.of(found.values(), known=frozenset(read) - _kinds(faults))


def _listed(cluster: ClusterClient, source: WatchSource) -> tuple[Kept, ...]:
    """All objects of the source in the newest served version; none if the CRD is not installed."""
    for resource in source.versions:
        try:
            return cluster.snapshot(
                resource, source.keep, namespace=source.namespace, field_selector=source.field_selector
            ).items
        except NotFound:
            continue
    return ()
