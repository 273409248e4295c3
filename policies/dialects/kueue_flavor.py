"""Kueue's ResourceFlavor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from policies.dialects.kueue_kinds import RESOURCE_FLAVOR
from policies.dialects.labels import label_faults, taint_faults, toleration_faults
from policies.dialects.reading import Manifest, Reader, identity, mapping
from policies.model.defect import Defect
from policies.model.objects import KubeObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceFlavor(KubeObject):
    """A kind of node that quota is counted for. `label_faults`: labels and taints that no node can have."""

    label_faults: tuple[Defect, ...] = ()


def read_resource_flavor(manifest: Manifest) -> ResourceFlavor:
    return ResourceFlavor(
        ref=identity(manifest, RESOURCE_FLAVOR, namespaced=False),
        api_version=str(manifest.get("apiVersion")),
        label_faults=tuple(_faults(mapping(manifest.get("spec")))),
        defects=Reader(manifest).defects(),
    )


def _faults(spec: Mapping[str, object]) -> Iterator[Defect]:
    yield from label_faults(spec.get("nodeLabels"), "spec.nodeLabels")
    yield from taint_faults(spec.get("nodeTaints"), "spec.nodeTaints")
    yield from toleration_faults(spec.get("tolerations"), "spec.tolerations")
