"""The commands of the core. The shell executes them, and reports each result as an event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from cluster.actions import Action
from reconciler.objects.observed import Key
from reconciler.objects.watched import WatchedResource
from reconciler.objects.workers import WorkerCommand

REPORTS = ("Event", "ClusterQueue", "LocalQueue", "Cohort", "ResourceFlavor", "AdmissionCheck", "Topology", "Queue")
"""Kinds whose writes are only reports: no decision waits for the responses. `Queue` is Volcano's; nearly all writes of
Volcano queues are reports."""


@dataclass(frozen=True, slots=True)
class WriteCommand:
    """Execute the action; the result is Written or Failed. An Event needs no result."""

    key: Key
    action: Action


@dataclass(frozen=True, slots=True)
class ReadObject:
    """Read one object; the result is ObjectRead or Failed."""

    key: Key


@dataclass(frozen=True, slots=True)
class Relist:
    """List all objects of a resource, with retries; the result is a Listed for each view with this `request`."""

    watched: WatchedResource
    request: int


@dataclass(frozen=True, slots=True)
class FollowResource:
    """List and watch a resource from now on, see `WatchedKind.on_demand`."""

    watched: WatchedResource


Command: TypeAlias = WriteCommand | ReadObject | Relist | FollowResource | WorkerCommand
