"""The newest version of each API group, for objects that have no manifest."""

from __future__ import annotations

from policies.model.objects import Ref

_NEWEST = {
    "": "v1",
    "kueue.x-k8s.io": "v1beta2",
    "scheduling.volcano.sh": "v1beta1",
    "batch.volcano.sh": "v1alpha1",
    "scheduling.k8s.io": "v1",
}


def newest_version(ref: Ref) -> str:
    """The newest apiVersion for an object, such as an implicit Cohort. The version is empty for an unknown group."""
    version = _NEWEST.get(ref.group, "")
    return f"{ref.group}/{version}" if ref.group else version
