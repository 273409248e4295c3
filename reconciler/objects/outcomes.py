"""The results of requests to an API server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from cluster.actions import Action
from cluster.errors import ClusterError
from cluster.resource import Manifest
from reconciler.objects.observed import Key


class LeaseLost(ClusterError):
    """The Lease is not held, so nothing was sent."""


@dataclass(frozen=True, slots=True)
class Written:
    """An action was executed. `manifest`: the object as it is stored now, or the object that was deleted."""

    key: Key
    action: Action
    manifest: Manifest


@dataclass(frozen=True, slots=True)
class Failed:
    """An action failed, or its result is unknown. `action`: None for a read."""

    key: Key
    action: Action | None
    error: Exception


@dataclass(frozen=True, slots=True)
class ObjectRead:
    """The object as it is stored, read after a write that came too late."""

    key: Key
    manifest: Manifest


Outcome: TypeAlias = Written | Failed | ObjectRead
