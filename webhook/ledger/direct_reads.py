"""Keeps single objects that the ledger read from the API server, because a watch did not show them soon enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from cluster.sightings import Sighting, Snapshot, covers
from policies.model.objects import KubeObject, Ref
from webhook.ledger.entry import LedgerEntry

_LASTING = 120.0
"""Seconds until such an object is forgotten. By then the watch has shown it, or the cache counts as silent."""


class DirectRead(NamedTuple):
    """One object as the API server has it.

    `stored`: the object; None if it is deleted.
    `seen`: its UID and resource version; of a deleted object, the last known ones.
    """

    stored: KubeObject | None
    seen: Sighting


class DirectReads:
    """Objects that were read one by one. They replace those of the cache until the cache is as new."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._found: dict[Ref, tuple[DirectRead, float]] = {}

    def note(self, entry: LedgerEntry, found: DirectRead | None) -> None:
        """Keep what was read of the entry's object, if it proves whether the change was stored.

        The API server stores the change only on top of the version `base`. So it is settled once the object has another
        version, or is gone.
        `found`: None if the object does not exist.
        """
        same = found is not None and found.seen.uid == entry.uid
        if found is not None and found.stored is not None and same and found.seen.version != entry.base:
            self._found[entry.ref] = found, self._clock()
        elif entry.base and not same:
            self._found[entry.ref] = DirectRead(None, Sighting(entry.uid, entry.base)), self._clock()

    def over(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot with these objects in place of the cache's own. Forgets objects that the watch has shown."""
        now = self._clock()
        for ref, (found, at) in tuple(self._found.items()):
            if now - at > _LASTING or _shown(found, snapshot.sightings.of(ref)):
                del self._found[ref]
                continue
            snapshot = _laid(snapshot, ref, found)
        return snapshot


def _shown(found: DirectRead, seen: Sighting | None) -> bool:
    """Whether the watch, which last showed `seen`, is as new as the read."""
    if found.stored is None:
        return seen is not None and seen.uid != found.seen.uid
    return seen is not None and covers(seen.version, found.seen.version)


def _laid(snapshot: Snapshot, ref: Ref, found: DirectRead) -> Snapshot:
    forest, sightings = snapshot.forest, snapshot.sightings
    if found.stored is None:
        forest, after = forest.drop(ref), sightings.drop(ref, found.seen)
    else:
        forest, after = forest.put(found.stored), sightings.put(ref, found.seen)
    # The watch has come no further: a read of one object shows nothing about the others.
    return Snapshot(forest, replace(after, progress=sightings.progress))
