"""The quota objects of one cluster as a Forest that follows the API server."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from cluster.client import Cluster
from cluster.errors import ClusterError, NotFound
from cluster.reflector import ChangeKind, Pacing, Reflector
from cluster.resource import Resource
from cluster.sources import Source, Unreadable, sources
from policies.model.forest import Forest
from policies.model.objects import GroupKind, KubeObject, Ref

log = logging.getLogger(__name__)

_CLOSING = 5.0  # seconds for all reflectors together; one that hangs in a connection attempt is left behind
_NAMED = 3  # objects that `ready` lists; the rest are counted

Kept = KubeObject | Unreadable | None
"""What is made of a manifest; None where it carries no quota after all."""


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
    """The Forest of a cluster, kept current by one reflector for each source.

    Readers take the present snapshot without a lock; a change makes a new snapshot under one. A kind whose CRD is not
    installed is known to have no objects; one of which an object cannot be read is not known.
    """

    def __init__(self, pacing: Pacing | None = None, following: Sequence[Source] | None = None) -> None:
        self._pacing = pacing
        self._sources = sources() if following is None else tuple(following)
        self._forest = Forest()
        self._listed: frozenset[Source] = frozenset()
        self._unreadable: Mapping[Ref, Unreadable] = {}
        self._writing = threading.Lock()
        self._reflectors: dict[Source, Reflector[Kept]] = {}
        self._starting = threading.Lock()
        self._closed = False

    def start(self, cluster: Cluster) -> None:
        """Begin to follow; returns at once, whether or not the API server answers. `ready` tells how far it is."""
        threading.Thread(target=self._start, args=(cluster,), name="store", daemon=True).start()

    def forest(self) -> Forest:
        return self._forest

    def ready(self) -> list[str]:
        lacks = [lack for source in self._sources if (lack := self._lack(source))]
        faults = list(self._unreadable.values())
        more = [f"and {len(faults) - _NAMED} more objects that cannot be read"] if len(faults) > _NAMED else []
        return [*lacks, *map(str, faults[:_NAMED]), *more]

    def age(self) -> float | None:
        reflectors = [self._reflectors.get(source) for source in self._sources]
        ages = [reflector.age for reflector in reflectors if reflector is not None]
        known = [age for age in ages if age is not None]
        return max(known, default=0.0) if len(known) == len(self._sources) else None

    def close(self) -> None:
        with self._starting:
            self._closed = True
        for reflector in self._reflectors.values():
            reflector.stop(timeout=0)  # all are told before any is waited for
        end = time.monotonic() + _CLOSING
        for reflector in self._reflectors.values():
            reflector.stop(timeout=max(0.0, end - time.monotonic()))

    def _start(self, cluster: Cluster) -> None:
        for source in self._sources:
            reflector = self._reflector(source, cluster, _newest(cluster, source.versions))
            with self._starting:
                if self._closed:
                    return
                self._reflectors[source] = reflector
                reflector.start()

    def _reflector(self, source: Source, cluster: Cluster, resource: Resource) -> Reflector[Kept]:
        return Reflector(
            cluster,
            resource,
            lambda change, thing, _: self._change(change, thing),
            on_replace=lambda things, _: self._replace(source, things),
            keep=source.keep,
            namespace=source.namespace,
            field_selector=source.field_selector,
            pacing=self._pacing,
        )

    def _lack(self, source: Source) -> str:
        reflector = self._reflectors.get(source)
        if reflector is not None and reflector.synced.is_set():
            return ""
        return f"{source}: {(reflector and reflector.last_error) or 'not listed yet'}"

    def _replace(self, source: Source, things: tuple[Kept, ...]) -> None:
        """These are all objects of the source: what else there was of it is gone."""
        found, faults = _sorted(things)
        with self._writing:
            refs = [thing.ref for thing in self._forest.objects()]
            gone = [ref for ref in refs if source.covers(ref) and ref not in found]
            others = {ref: fault for ref, fault in self._unreadable.items() if not source.covers(ref)}
            self._listed |= {source}
            self._settle(self._forest.drop_all(gone).put_all(found.values()), {**others, **faults})

    def _change(self, change: ChangeKind, thing: Kept) -> None:
        if thing is None:
            return
        with self._writing:
            faults = {ref: fault for ref, fault in self._unreadable.items() if ref != thing.ref}
            if change == "DELETED":
                self._settle(self._forest.drop(thing.ref), faults)
            elif isinstance(thing, Unreadable):
                self._settle(self._forest.drop(thing.ref), {**faults, thing.ref: thing})
            else:
                self._settle(self._forest.put(thing), faults)

    def _settle(self, forest: Forest, unreadable: Mapping[Ref, Unreadable]) -> None:
        """The next snapshot, with the kinds of which it holds every object; called under the lock."""
        waiting = {source.kind for source in self._sources if source not in self._listed}
        known = frozenset(source.kind for source in self._sources) - waiting - _kinds(unreadable)
        self._unreadable = unreadable
        self._forest = forest if forest.known == known else replace(forest, known=known)


def _sorted(things: Iterable[Kept]) -> tuple[dict[Ref, KubeObject], dict[Ref, Unreadable]]:
    """What can be read, and what cannot."""
    found: dict[Ref, KubeObject] = {}
    faults: dict[Ref, Unreadable] = {}
    for thing in things:
        if isinstance(thing, Unreadable):
            faults[thing.ref] = thing
        elif thing is not None:
            found[thing.ref] = thing
    return found, faults


def _kinds(refs: Iterable[Ref]) -> frozenset[GroupKind]:
    return frozenset(ref.group_kind for ref in refs)


def _newest(cluster: Cluster, candidates: tuple[Resource, ...]) -> Resource:
    """The newest version that is served; the newest of all where none is, or where the API server does not answer."""
    if len(candidates) == 1:
        return candidates[0]
    try:
        return next(filter(cluster.served, candidates), candidates[0])
    except ClusterError as error:
        log.warning("%s is followed, whether served or not: %s", candidates[0], error)
        return candidates[0]


def load(cluster: Cluster, following: Sequence[Source] | None = None) -> Forest:
    """Everything that a Store would hold, read once. Raises ClusterError."""
    wanted = sources() if following is None else following
    found, faults = _sorted(thing for source in wanted for thing in _listed(cluster, source))
    return Forest.of(found.values(), known=frozenset(source.kind for source in wanted) - _kinds(faults))


def _listed(cluster: Cluster, source: Source) -> tuple[Kept, ...]:
    """All objects of the source in the newest version that is served; none where the CRD is not installed."""
    for resource in source.versions:
        try:
            return cluster.snapshot(
                resource, source.keep, namespace=source.namespace, field_selector=source.field_selector
            ).items
        except NotFound:
            continue
    return ()
