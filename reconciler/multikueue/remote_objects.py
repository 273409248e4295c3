"""The fields of queues and namespaces on a worker: whether they accept workloads, and how much quota is free."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from policies.dialects.reading import Manifest, condition, listing, mapping, metadata, text
from scheduling.objects import amounts
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.queue_settings import (
    ClusterQueueSettings,
    LocalQueueSettings,
    read_local_queue_settings,
    read_queue_settings,
)


@dataclass(frozen=True, slots=True)
class RemoteActivity:
    """The condition Active of a queue. A queue without the condition counts as active."""

    active: bool = True
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RemoteLocalQueue:
    settings: LocalQueueSettings
    activity: RemoteActivity = RemoteActivity()


@dataclass(frozen=True, slots=True)
class RemoteClusterQueue:
    """A ClusterQueue on a worker. `reserved`: the quota that all its workloads have, in base units."""

    settings: ClusterQueueSettings
    activity: RemoteActivity = RemoteActivity()
    reserved: Mapping[FlavorResource, int] = field(default_factory=dict)


def read_remote_local_queue(manifest: Manifest) -> RemoteLocalQueue:
    return RemoteLocalQueue(read_local_queue_settings(manifest), _activity(manifest))


def read_remote_cluster_queue(manifest: Manifest, *, orchestrated: bool = False) -> RemoteClusterQueue:
    """Read a ClusterQueue. `orchestrated`: whether `status.effectiveQuotas` replaces the quotas in the spec."""
    settings = read_queue_settings(manifest, orchestrated=orchestrated)
    return RemoteClusterQueue(settings, _activity(manifest), dict(_reserved(manifest)))


def read_remote_namespace(manifest: Manifest) -> str:
    return text(metadata(manifest).get("name")) or ""


def _activity(manifest: Manifest) -> RemoteActivity:
    active = condition(mapping(manifest.get("status")), "Active")
    return RemoteActivity(active.get("status") != "False", text(active.get("reason")) or "")


def _reserved(manifest: Manifest) -> Iterator[tuple[FlavorResource, int]]:
    for flavor in map(mapping, listing(mapping(manifest.get("status")).get("flavorsReservation"))):
        for entry in map(mapping, listing(flavor.get("resources"))):
            resource = text(entry.get("name")) or ""
            amount = amounts.read({resource: entry.get("total")}).get(resource, 0)
            yield FlavorResource(text(flavor.get("name")) or "", resource), amount
