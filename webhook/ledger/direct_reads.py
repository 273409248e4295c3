"""Single objects that were read from the API server because a watch did not show them soon enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cluster.sightings import Sighting, Sightings, Snapshot, covers
from policies.model.objects import KubeObject, Ref
from webhook.ledger.entry import LedgerEntry

_LASTING = 120.0
"""How long such an object is kept, in seconds. By then the watch has shown it, or the cache counts as silent."""


class DirectRead(NamedTuple):
    """One object as the API server has it.

    `stored`: None if the object is deleted.
    `seen`: its uid and resource version; of a deleted object the last known ones.
    """

    stored: KubeObject | None
    seen: Sighting


class DirectReads:
    """Objects that were read one by one. They replace those of the cache until the cache is as new."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._found: dict[Ref, tuple[DirectRead, float]] = {}

    def note(self, entry: LedgerEntry, found: DirectRead | None) -> None:
        """Keep the object of the entry as it was read if it proves whether the change was stored.

        `found`: None if the object does not exist.
        """
        same = found is not None and found.seen.uid == entry.uid
        if found is not None and found.stored is not None and same and found.seen.version != entry.base:
            self._found[entry.ref] = found, self._clock()
        elif entry.base and not same:
            self._found[entry.ref] = DirectRead(None, Sighting(entry.uid, entry.base)), self._clock()

    def over(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot with these objects, as the watches will soon show them."""
        now = self._clock()
        for ref, (found, at) in tuple(self._found.items()):
            if now - at > _LASTING or _shown(found, snapshot.sightings.of(ref)):
                del self._found[ref]
                continue
            snapshot = _laid(snapshot, ref, found)
        return snapshot


def _shown(found: DirectRead, seen: Sighting | None) -> bool:
    if found.stored is None:
        return seen is not None and seen.uid != found.seen.uid
    return seen is not None and covers(seen.version, found.seen.version)


def _laid(snapshot: Snapshot, ref: Ref, found: DirectRead) -> Snapshot:
    forest, sightings = snapshot.forest, snapshot.sightings
    if found.stored is None:
        return Snapshot(forest.drop(ref), _with_progress_of(sightings, sightings.drop(ref, found.seen)))
    return Snapshot(forest.put(found.stored), _with_progress_of(sightings, sightings.put(ref, found.seen)))


def _with_progress_of(before: Sightings, after: Sightings) -> Sightings:
    """The later sightings with the earlier progress, since reading one object shows nothing about the others."""
    return Sightings(before.progress, after._seen, after._gone)
