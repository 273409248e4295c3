"""The fields of MultiKueueCluster and MultiKueueConfig that decisions depend on.

Source: Kueue v0.19, apis/kueue/v1beta2/multikueue_types.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cluster.resource import Resource
from policies.dialects.kueue_kinds import GROUP
from policies.dialects.reading import Manifest, condition, listing, mapping, metadata, text, texts
from reconciler.objects.activity import ACTIVE
from reconciler.objects.stored import read_stored
from reconciler.objects.watched import VERSION, WatchedKind
from reconciler.objects.workers import PathSource, ProfileSource, SecretSource, Source, WorkerActivity
from scheduling.objects import times


@dataclass(frozen=True, slots=True)
class MultiKueueCluster:
    """The fields of a MultiKueueCluster. `source`: where its kubeconfig is; None if the reference is invalid."""

    name: str
    source: Source | None
    labels: Mapping[str, str] = field(default_factory=dict)
    active: WorkerActivity = field(default_factory=WorkerActivity)
    deleting: bool = False


@dataclass(frozen=True, slots=True)
class MultiKueueConfig:
    """The fields of a MultiKueueConfig. `clusters`: the names of MultiKueueClusters, in order."""

    name: str
    clusters: tuple[str, ...] = ()


def read_multikueue_cluster(manifest: Manifest) -> MultiKueueCluster:
    meta, spec = metadata(manifest), mapping(manifest.get("spec"))
    return MultiKueueCluster(
        text(meta.get("name")) or "",
        _source(mapping(spec.get("clusterSource"))),
        texts(meta.get("labels")),
        read_activity(manifest),
        bool(meta.get("deletionTimestamp")),
    )


def read_multikueue_config(manifest: Manifest) -> MultiKueueConfig:
    clusters = filter(None, map(text, listing(mapping(manifest.get("spec")).get("clusters"))))
    return MultiKueueConfig(text(metadata(manifest).get("name")) or "", tuple(clusters))


def read_activity(manifest: Manifest) -> WorkerActivity:
    active = condition(mapping(manifest.get("status")), ACTIVE)
    if not active:
        return WorkerActivity()
    status, reason, message = (text(active.get(key)) or "" for key in ("status", "reason", "message"))
    return WorkerActivity(status, reason, message, times.parse(active.get("lastTransitionTime")))


def _source(spec: Mapping[str, object]) -> Source | None:
    profile, config = mapping(spec.get("clusterProfileRef")), mapping(spec.get("kubeConfig"))
    if profile:
        return ProfileSource(text(profile.get("name")) or "")
    if not config:
        return None
    location = text(config.get("location")) or ""
    return PathSource(location) if config.get("locationType") == "Path" else SecretSource(location)


MULTIKUEUE_CLUSTERS = Resource(GROUP, VERSION, "multikueueclusters", namespaced=False)
MULTIKUEUE_CONFIGS = Resource(GROUP, VERSION, "multikueueconfigs", namespaced=False)
CLUSTERS: WatchedKind[MultiKueueCluster] = WatchedKind(
    "MultiKueueCluster", MULTIKUEUE_CLUSTERS, read_multikueue_cluster, detail=read_stored
)
CONFIGS: WatchedKind[MultiKueueConfig] = WatchedKind("MultiKueueConfig", MULTIKUEUE_CONFIGS, read_multikueue_config)
"""The kinds of the manager's own cluster that controllers watch."""
