"""The version to name of a kind where no object says its own."""

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
    """Its apiVersion, such as that of an implicit Cohort; without a version for groups that are not known here."""
    version = _NEWEST.get(ref.group, "")
    return f"{ref.group}/{version}" if ref.group else version
