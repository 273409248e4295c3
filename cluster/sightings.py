"""Records which version of each object a watch last showed, and up to which version each watch has come.

The ledger compares these versions to find out whether a recorded change was stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from cluster.resource import Manifest
from cluster.versions import is_newer
from policies.dialects.core import CONFIG_MAP
from policies.dialects.reading import group_kind
from policies.model.forest import Forest
from policies.model.objects import KubeObject, Ref
from policies.model.trie import Trie, no_total

_REMEMBERED = 512
"""The number of deletions that are kept. A deletion is looked up within a minute, if at all."""


class Sighting(NamedTuple):
    """The UID of an object, and the resource version that a watch or list last showed."""

    uid: str
    version: str


class Deletion(NamedTuple):
    """A deletion that a watch reported. `version`: the resource version of the event."""

    ref: Ref
    uid: str
    version: str


def sighting(manifest: Manifest) -> Sighting:
    """The UID and resource version in a manifest; a field is empty if the manifest does not have it."""
    metadata: Mapping[str, Any] = manifest.get("metadata") or {}
    return Sighting(str(metadata.get("uid") or ""), str(metadata.get("resourceVersion") or ""))


def scope(ref: Ref) -> str:
    """The name of the watch that shows this object. Each kind has one watch; each followed ConfigMap has its own."""
    kind = ".".join(filter(None, (ref.kind, ref.group)))
    return f"{kind}/{ref.namespace}/{ref.name}" if ref.group_kind == CONFIG_MAP else kind


_NOTHING: Trie[Ref, Sighting, None] = Trie(no_total)


@dataclass(frozen=True, slots=True)
class Sightings:
    """One immutable snapshot. `progress`: the name of a watch to the resource version that it has reached."""

    progress: Mapping[str, str] = field(default_factory=dict)
    _seen: Trie[Ref, Sighting, None] = _NOTHING
    _gone: tuple[Deletion, ...] = ()

    def of(self, ref: Ref) -> Sighting | None:
        return self._seen.get(ref)

    def deleted(self, ref: Ref, uid: str) -> str | None:
        """The version of the event that reported this object's deletion; None if no watch did."""
        return next((gone.version for gone in self._gone if (gone.ref, gone.uid) == (ref, uid)), None)

    def reached(self, ref: Ref, version: str) -> bool:
        """Whether the watch of the object has shown all changes up to this version."""
        return covers(self.progress.get(scope(ref)), version)

    def put(self, ref: Ref, seen: Sighting) -> Sightings:
        """The next snapshot, after an event that showed this object."""
        return replace(self, progress=self._advanced(ref, seen.version), _seen=self._seen.put(ref, seen))

    def drop(self, ref: Ref, seen: Sighting) -> Sightings:
        """The next snapshot, after an event that reported the deletion of this object."""
        gone = (*self._gone[1 - _REMEMBERED :], Deletion(ref, *seen))
        return replace(self, progress=self._advanced(ref, seen.version), _seen=self._seen.drop(ref), _gone=gone)

    def listed(self, place: str, version: str, gone: Iterable[Ref], found: Mapping[Ref, Sighting]) -> Sightings:
        """The next snapshot, after a new list.

        `place`: the name of the watch. `version`: the resource version of the list. `gone`: the objects that are no
        longer in the list. `found`: the objects in the list.
        """
        seen = self._seen
        for ref in gone:
            seen = seen.drop(ref)
        for ref, each in found.items():
            seen = seen.put(ref, each)
        return replace(self, progress={**self.progress, place: version}, _seen=seen)

    def _advanced(self, ref: Ref, version: str) -> dict[str, str]:
        return {**self.progress, scope(ref): version}


def covers(progress: str | None, version: str) -> bool:
    """Whether a watch that has come as far as `progress` has shown the state at `version`."""
    return bool(progress) and not is_newer(version, progress)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The quota objects of a cluster, and their known versions."""

    forest: Forest
    sightings: Sightings

    def holding(self, manifest: Mapping[str, Any]) -> KubeObject | None:
        """The object of this snapshot that was read from the same state as the manifest; None if there is none.

        The UID, the resource version and the API version must be equal.
        """
        metadata = manifest.get("metadata")
        if not isinstance(metadata, dict):
            return None
        seen = metadata.get("uid"), metadata.get("resourceVersion")
        name, namespace = metadata.get("name"), metadata.get("namespace") or ""
        if not (all(seen) and isinstance(name, str) and isinstance(namespace, str)):
            return None
        ref = Ref(*group_kind(manifest), namespace, name)
        found = self.forest.get(ref) if self.sightings.of(ref) == seen else None
        return found if found is not None and found.api_version == manifest.get("apiVersion") else None
