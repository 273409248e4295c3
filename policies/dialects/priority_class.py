"""Kubernetes' PriorityClass, with the annotation by which YuniKorn decides whether its pods may be preempted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policies.dialects.core import YUNIKORN, ours
from policies.dialects.reading import Manifest, identity, metadata, texts
from policies.model.objects import GroupKind, KubeObject

PRIORITY_CLASS = GroupKind("scheduling.k8s.io", "PriorityClass")
ALLOW_PREEMPTION = YUNIKORN + "allow-preemption"


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityClass(KubeObject):
    """A PriorityClass. `annotations`: those of the three projects, as written."""

    annotations: Mapping[str, str]

    @property
    def preemption(self) -> bool:
        return says_true(self.annotations, ALLOW_PREEMPTION)


def read_priority_class(manifest: Manifest) -> PriorityClass:
    return PriorityClass(
        ref=identity(manifest, PRIORITY_CLASS, namespaced=False),
        api_version=str(manifest.get("apiVersion")),
        annotations=ours(texts(metadata(manifest).get("annotations"))),
    )


def lets_preempt(spec: Mapping[str, Any]) -> bool:
    """Whether others may be preempted for the Pod with this spec, or for the Pods of this PriorityClass."""
    return spec.get("preemptionPolicy") != "Never"


def says_true(annotations: Mapping[str, str], key: str) -> bool:
    """Whether a switch that is on by default is on. As in YuniKorn, only the value `false` turns it off."""
    return annotations.get(key) != "false"
