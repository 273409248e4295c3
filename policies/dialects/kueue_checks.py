"""Kueue's kinds that decide how workloads are checked, placed and ordered.

An AdmissionCheck is read for its controller and parameters, MultiKueue's kinds for the objects that they name, and a
Topology for its levels. For the other kinds only the structure is checked.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from policies.dialects import kueue_kinds
from policies.dialects.reading import Manifest, ManifestReader, identity, listing, mapping, text
from policies.model.objects import GroupKind, KubeObject, Ref


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSetting(KubeObject):
    """An object of one of these kinds."""


MULTIKUEUE = "kueue.x-k8s.io/multikueue"
PROVISIONING = "kueue.x-k8s.io/provisioning-request"
"""The controllers of AdmissionChecks that are part of Kueue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionCheck(KubeObject):
    """An AdmissionCheck.

    `controller`: the name of the controller that runs it; empty if that cannot be read.
    `parameters`: the object that configures it.
    """

    controller: str = ""
    parameters: Ref | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiKueueConfigObject(KubeObject):
    """A MultiKueueConfig with its `clusters` in the order of the manifest."""

    clusters: tuple[str, ...] = ()

    def uses(self) -> frozenset[Ref]:
        return frozenset(map(kueue_kinds.MULTIKUEUE_CLUSTER.named, self.clusters))


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiKueueClusterObject(KubeObject):
    """A MultiKueueCluster.

    `kind`: the kind of its source: Secret, Path or ClusterProfile; empty if it cannot be read.
    `location`: the name or the file of the source.
    `field`: the path of `location`.
    """

    kind: str = ""
    location: str = ""
    field: str = ""

    @property
    def place(self) -> tuple[str, str]:
        """The source in normal form, which is equal for two clusters whose paths are only written differently."""
        return self.kind, posixpath.normpath(self.location) if self.kind == PATH else self.location


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenTopology(KubeObject):
    """A Topology. `levels`: labels of Nodes, the widest level first; empty if they cannot be read."""

    levels: tuple[str, ...] = ()


PATH, SECRET, PROFILE = "Path", "Secret", "ClusterProfile"


def _read_admission_check(manifest: Manifest) -> AdmissionCheck:
    return AdmissionCheck(
        ref=identity(manifest, kueue_kinds.ADMISSION_CHECK, namespaced=False),
        api_version=str(manifest.get("apiVersion")),
        controller=text(mapping(manifest.get("spec")).get("controllerName")) or "",
        parameters=_parameters(mapping(mapping(manifest.get("spec")).get("parameters"))),
        defects=ManifestReader(manifest).defects(),
    )


def _parameters(named: Mapping[str, object]) -> Ref | None:
    group, kind, name = (text(named.get(key)) or "" for key in ("apiGroup", "kind", "name"))
    return Ref(group, kind, "", name) if name else None


def _read_config(manifest: Manifest) -> MultiKueueConfigObject:
    clusters = listing(mapping(manifest.get("spec")).get("clusters"))
    return MultiKueueConfigObject(
        ref=identity(manifest, kueue_kinds.MULTIKUEUE_CONFIG, namespaced=False),
        api_version=str(manifest.get("apiVersion")),
        clusters=tuple(text(name) or "" for name in clusters),
        defects=ManifestReader(manifest).defects(),
    )


def _read_topology(manifest: Manifest) -> WrittenTopology:
    levels = map(mapping, listing(mapping(manifest.get("spec")).get("levels")))
    return WrittenTopology(
        ref=identity(manifest, kueue_kinds.TOPOLOGY, namespaced=False),
        api_version=str(manifest.get("apiVersion")),
        levels=tuple(name for level in levels if (name := text(level.get("nodeLabel")))),
        defects=ManifestReader(manifest).defects(),
    )


def _read_cluster(manifest: Manifest) -> MultiKueueClusterObject:
    """Read a MultiKueueCluster. In v1beta1 the source is directly in spec."""
    spec, at = mapping(manifest.get("spec")), "spec"
    if "clusterSource" in spec:
        spec, at = mapping(spec.get("clusterSource")), "spec.clusterSource"
    config, profile = mapping(spec.get("kubeConfig")), mapping(spec.get("clusterProfileRef"))
    kind, location, field = "", "", at
    if config:
        kind = PATH if config.get("locationType") == PATH else SECRET
        location, field = text(config.get("location")) or "", f"{at}.kubeConfig.location"
    elif profile:
        kind, location, field = PROFILE, text(profile.get("name")) or "", f"{at}.clusterProfileRef.name"
    return MultiKueueClusterObject(
        ref=identity(manifest, kueue_kinds.MULTIKUEUE_CLUSTER, namespaced=False),
        api_version=str(manifest.get("apiVersion")),
        kind=kind,
        location=location,
        field=field,
        defects=ManifestReader(manifest).defects(),
    )


def _reader(kind: GroupKind) -> Callable[[Manifest], CheckSetting]:
    def read(manifest: Manifest) -> CheckSetting:
        return CheckSetting(
            ref=identity(manifest, kind, namespaced=False),
            api_version=str(manifest.get("apiVersion")),
            defects=ManifestReader(manifest).defects(),
        )

    return read


READERS: Mapping[GroupKind, Callable[[Manifest], KubeObject]] = {
    kueue_kinds.ADMISSION_CHECK: _read_admission_check,
    kueue_kinds.MULTIKUEUE_CONFIG: _read_config,
    kueue_kinds.MULTIKUEUE_CLUSTER: _read_cluster,
    kueue_kinds.TOPOLOGY: _read_topology,
    kueue_kinds.PROVISIONING_REQUEST_CONFIG: _reader(kueue_kinds.PROVISIONING_REQUEST_CONFIG),
    kueue_kinds.WORKLOAD_PRIORITY_CLASS: _reader(kueue_kinds.WORKLOAD_PRIORITY_CLASS),
}
