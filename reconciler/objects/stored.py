"""The fields of a stored object that writes of its status and finalizers need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cluster.resource import Manifest
from policies.dialects.reading import listing, mapping, metadata, text, texts
from scheduling.objects.times import rfc3339

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True, slots=True)
class Stored:
    """The fields at a resource version.

    `deleting`: whether deletion was requested.
    `annotations`: all annotations, without the one in which kubectl keeps the whole object.
    """

    version: str = ""
    generation: int = 0
    status: Mapping[str, Any] = field(default_factory=dict)
    finalizers: tuple[str, ...] = ()
    deleting: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    uid: str = ""


def read_stored(manifest: Manifest) -> Stored:
    meta = metadata(manifest)
    generation = meta.get("generation")
    return Stored(
        text(meta.get("resourceVersion")) or "",
        generation if isinstance(generation, int) else 0,
        mapping(manifest.get("status")),
        tuple(filter(None, map(text, listing(meta.get("finalizers"))))),
        bool(meta.get("deletionTimestamp")),
        texts(meta.get("labels")),
        {key: value for key, value in texts(meta.get("annotations")).items() if key != _LAST_APPLIED},
        text(meta.get("uid")) or "",
    )


def with_condition(before: Stored, kind: str, holds: bool, reason: str, message: str, now: int) -> list[Any]:
    """The conditions with this one replaced or added. The time of its transition changes only with its status."""
    conditions = [mapping(each) for each in listing(before.status.get("conditions"))]
    old = next((each for each in conditions if each.get("type") == kind), {})
    new = condition_to_write(old, kind, "True" if holds else "False", reason, message, now)
    if before.generation:
        new["observedGeneration"] = before.generation
    if not old:
        return [*conditions, new]
    return [new if each is old else each for each in conditions]


def condition_to_write(
    old: Mapping[str, Any], kind: str, status: str, reason: str, message: str, now: int
) -> dict[str, Any]:
    """The condition. It keeps the time of the last transition of `old` if that has the same status."""
    since = old.get("lastTransitionTime") if old.get("status") == status else None
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since or rfc3339(now),
    }
