"""Which object was last seen under each name, and how far each watch has come: the facts that order two writers."""

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
"""Deletions that are kept; they are asked about within a minute."""


class Sighting(NamedTuple):
    """An object as it was seen: its uid, and the resource version of that state."""

    uid: str
    version: str


class Deletion(NamedTuple):
    """A deletion that a watch reported; `version` is that of the event."""

    ref: Ref
    uid: str
    version: str


def sighting(manifest: Manifest) -> Sighting:
    """The identity and version of an object; empty where the manifest has none."""
    metadata: Mapping[str, Any] = manifest.get("metadata") or {}
    return Sighting(str(metadata.get("uid") or ""), str(metadata.get("resourceVersion") or ""))


def scope(ref: Ref) -> str:
    """The watch that shows this object: one for each kind, and for ConfigMaps one for each object."""
    kind = ".".join(filter(None, (ref.kind, ref.group)))
    return f"{kind}/{ref.namespace}/{ref.name}" if ref.group_kind == CONFIG_MAP else kind


_NOTHING: Trie[Ref, Sighting, None] = Trie(no_total)


@dataclass(frozen=True, slots=True)
class Sightings:
    """One snapshot. `progress` has the version of each scope up to which all changes were seen."""

    progress: Mapping[str, str] = field(default_factory=dict)
    _seen: Trie[Ref, Sighting, None] = _NOTHING
    _gone: tuple[Deletion, ...] = ()

    def of(self, ref: Ref) -> Sighting | None:
        return self._seen.get(ref)

    def deleted(self, ref: Ref, uid: str) -> str | None:
        """The version of the event that reported this object's deletion; None if no watch did."""
        return next((gone.version for gone in self._gone if (gone.ref, gone.uid) == (ref, uid)), None)

    def reached(self, ref: Ref, version: str) -> bool:
        """Whether everything of the object's scope was seen up to this version."""
        return covers(self.progress.get(scope(ref)), version)

    def put(self, ref: Ref, seen: Sighting) -> Sightings:
        """An event showed this object."""
        return replace(self, progress=self._advanced(ref, seen.version), _seen=self._seen.put(ref, seen))

    def drop(self, ref: Ref, seen: Sighting) -> Sightings:
        """An event reported that this object is deleted."""
        gone = (*self._gone[1 - _REMEMBERED :], Deletion(ref, *seen))
        return replace(self, progress=self._advanced(ref, seen.version), _seen=self._seen.drop(ref), _gone=gone)

    def listed(self, place: str, version: str, gone: Iterable[Ref], found: Mapping[Ref, Sighting]) -> Sightings:
        """A list showed everything of a scope; `gone` are the objects that are no longer in it."""
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
    """The quota objects of a cluster, and what is known of their versions."""

    forest: Forest
    sightings: Sightings

    def holding(self, manifest: Mapping[str, Any]) -> KubeObject | None:
        """What was read of this very state of the object, by uid, resource version and API version; None where the
        snapshot has another state of it, or none."""
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
