"""Kueue's ResourceFlavor. Source: Kueue v0.19, apis/kueue/v1beta2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from policies.dialects.kueue_kinds import RESOURCE_FLAVOR
from policies.dialects.labels import label_faults, taint_faults, toleration_faults
from policies.dialects.reading import Manifest, ManifestReader, identity, listing, mapping, text
from policies.dialects.taints import Taint, Toleration, read_taint, read_toleration
from policies.model.objects import Defect, KubeObject


@dataclass(frozen=True, slots=True)
class Flavor:
    """A ResourceFlavor as decisions need it.

    `labels`, `taints`: those of its nodes.
    `tolerations`: those that Kueue adds to the pods.
    `topology`: spec.topologyName.
    """

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceFlavor(KubeObject):
    """A ResourceFlavor as an object. `label_faults`: labels and taints that no node can have."""

    flavor: Flavor
    label_faults: tuple[Defect, ...] = ()


def read_resource_flavor(manifest: Manifest) -> ResourceFlavor:
    return ResourceFlavor(
        ref=identity(manifest, RESOURCE_FLAVOR, namespaced=False),
        api_version=str(manifest.get("apiVersion")),
        flavor=read_flavor(manifest),
        label_faults=tuple(_faults(mapping(manifest.get("spec")))),
        defects=ManifestReader(manifest).defects(),
    )


def read_flavor(manifest: Manifest) -> Flavor:
    spec = mapping(manifest.get("spec"))
    return Flavor(
        name=text(mapping(manifest.get("metadata")).get("name")) or "",
        labels={key: str(value) for key, value in mapping(spec.get("nodeLabels")).items()},
        taints=tuple(read_taint(taint) for taint in listing(spec.get("nodeTaints"))),
        tolerations=tuple(read_toleration(toleration) for toleration in listing(spec.get("tolerations"))),
        topology=text(spec.get("topologyName")),
    )


def _faults(spec: Mapping[str, object]) -> Iterator[Defect]:
    yield from label_faults(spec.get("nodeLabels"), "spec.nodeLabels")
    yield from taint_faults(spec.get("nodeTaints"), "spec.nodeTaints")
    yield from toleration_faults(spec.get("tolerations"), "spec.tolerations")
