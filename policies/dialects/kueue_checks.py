"""Kueue's kinds that say how workloads are checked, placed and ordered: only their structure is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from policies.dialects.kueue_kinds import (
    ADMISSION_CHECK,
    MULTIKUEUE_CLUSTER,
    MULTIKUEUE_CONFIG,
    PROVISIONING_REQUEST_CONFIG,
    TOPOLOGY,
    WORKLOAD_PRIORITY_CLASS,
)
from policies.dialects.reading import Manifest, Reader, identity
from policies.objects import GroupKind, KubeObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(KubeObject):
    """An object of one of these kinds."""


def _reader(kind: GroupKind) -> Callable[[Manifest], Setting]:
    def read(manifest: Manifest) -> Setting:
        return Setting(
            ref=identity(manifest, kind, namespaced=False),
            api_version=str(manifest.get("apiVersion")),
            defects=Reader(manifest).defects(),
        )

    return read


READERS = {
    kind: _reader(kind)
    for kind in (
        ADMISSION_CHECK,
        MULTIKUEUE_CLUSTER,
        MULTIKUEUE_CONFIG,
        PROVISIONING_REQUEST_CONFIG,
        TOPOLOGY,
        WORKLOAD_PRIORITY_CLASS,
    )
}
