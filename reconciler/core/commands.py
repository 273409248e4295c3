"""What the core asks for; the shell carries it out, and reports what came of it as an event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from cluster.actions import Action
from reconciler.objects.observed import Key
from reconciler.objects.watched import WatchedResource
from reconciler.objects.workers import WorkerCommand


@dataclass(frozen=True, slots=True)
class WriteCommand:
    """Carry the action out; comes back as Written or Failed. Of an Event nothing need come back."""

    key: Key
    action: Action


@dataclass(frozen=True, slots=True)
class ReadObject:
    """Read one object; comes back as ObjectRead or Failed."""

    key: Key
    path: str


@dataclass(frozen=True, slots=True)
class Relist:
    """List all objects of a resource, as often as it takes; comes back as a Listed of each view with this `request`."""

    watched: WatchedResource
    request: int


Command: TypeAlias = WriteCommand | ReadObject | Relist | WorkerCommand
