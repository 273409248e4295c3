"""Kueue's kinds that say how workloads are checked, placed and ordered.

Of an AdmissionCheck it counts who runs it; of the others only the structure is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from policies.dialects.kueue_kinds import (
    ADMISSION_CHECK,
    MULTIKUEUE_CLUSTER,
    MULTIKUEUE_CONFIG,
    PROVISIONING_REQUEST_CONFIG,
    TOPOLOGY,
    WORKLOAD_PRIORITY_CLASS,
)
from policies.dialects.reading import Manifest, Reader, identity, mapping, text
from policies.objects import GroupKind, KubeObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(KubeObject):
    """An object of one of these kinds."""


MULTIKUEUE = "kueue.x-k8s.io/multikueue"
PROVISIONING = "kueue.x-k8s.io/provisioning-request"
"""The controllers of Kueue itself that run AdmissionChecks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionCheck(KubeObject):
    """`controller` runs it; empty where that cannot be read."""

    controller: str = ""


def _read_admission_check(manifest: Manifest) -> AdmissionCheck:
    return AdmissionCheck(
        ref=identity(manifest, ADMISSION_CHECK, namespaced=False),
        api_version=str(manifest.get("apiVersion")),
        controller=text(mapping(manifest.get("spec")).get("controllerName")) or "",
        defects=Reader(manifest).defects(),
    )


def _reader(kind: GroupKind) -> Callable[[Manifest], Setting]:
    def read(manifest: Manifest) -> Setting:
        return Setting(
            ref=identity(manifest, kind, namespaced=False),
            api_version=str(manifest.get("apiVersion")),
            defects=Reader(manifest).defects(),
        )

    return read


READERS: Mapping[GroupKind, Callable[[Manifest], KubeObject]] = {
    ADMISSION_CHECK: _read_admission_check,
    **{
        kind: _reader(kind)
        for kind in (
            MULTIKUEUE_CLUSTER,
            MULTIKUEUE_CONFIG,
            PROVISIONING_REQUEST_CONFIG,
            TOPOLOGY,
            WORKLOAD_PRIORITY_CLASS,
        )
    },
}
