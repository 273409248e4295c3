"""Finds manifests with a misspelt kind or API group, which no API server serves.

Other projects have kinds such as Queue, Job and Workload, too. So kinds are compared only within the groups that
Quotree judges. A group that is not similar to one of these counts as a group of another project.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from policies.dialects.kueue_kinds import GROUP as KUEUE
from policies.dialects.newest import newest_version
from policies.dialects.reading import Manifest, identity, metadata, text
from policies.model.objects import GroupKind, KubeObject, Ref
from policies.model.suggestion import certain, close, only
from policies.schema.structure import versions_of

OTHER = GroupKind("", "any other kind")
"""Stands for all kinds without a reader in the kinds that a rule judges."""

with Path(__file__).with_name("kinds.csv").open(encoding="utf-8", newline="") as _file:
    _GROUPS = list(csv.DictReader(_file))
_SERVED = {
    row["group"]: tuple(row["kinds"].split()) for row in _GROUPS if row["kinds"] and row["project"] != "kubernetes"
}
"""The kinds of each group, with those that Quotree does not read. Source: Kueue v0.20, Volcano v1.15."""
_OF_KUBERNETES = {
    row["group"]: (row["kinds"].split(), row["others"].split()) for row in _GROUPS if row["project"] == "kubernetes"
}
"""The judged kinds, and the other kinds, of each group of Kubernetes itself. Source: Kubernetes 1.36."""
_MORE_GROUPS = [row["group"] for row in _GROUPS if not row["kinds"]]
"""Groups of the two projects whose kinds are not compared."""
NO_KIND = "object"
"""The word for an object whose manifest has no kind."""
_OF_NOBODY_ELSE = ("ClusterQueue", "LocalQueue", "ResourceFlavor", "WorkloadPriorityClass", "ProvisioningRequestConfig")
_WITHOUT_NAME = ("", "x-k8s.io", "k8s.io", "kueue")
"""What remains of the name of Kueue's group if a user leaves a part out."""
_KUBERNETES = ("k8s.io", "x-k8s.io", "kubernetes.io")
_NAMES = {"kueue": (KUEUE,), "volcano": ("scheduling.volcano.sh", "batch.volcano.sh")}
_NEAR_GROUP = 0.85
"""The least similarity of a misspelt group. `scheduling.volcano.io` has 0.9 to `scheduling.volcano.sh`. The most
similar group of another project is `jobset.x-k8s.io`, with 0.7."""
_NEAR_KIND = 0.75


@dataclass(frozen=True, slots=True)
class Slip:
    """A misspelt group or kind of a manifest.

    `at_group`: whether the group is misspelt, not the kind.
    `meant`: the kind that is meant; None if no kind of the group has a similar name.
    `certain`: whether nothing but `meant` can be meant.
    """

    at_group: bool
    meant: GroupKind | None
    certain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Misnamed(KubeObject):
    """An object with a misspelt group or kind."""

    slip: Slip

    @property
    def judged_as(self) -> GroupKind:
        return OTHER


def read_misnamed(manifest: Manifest, kind: GroupKind) -> Misnamed | None:
    """The object if its group or kind is misspelt or missing; None for kinds that exist, and for those of other
    projects."""
    api_version = text(manifest.get("apiVersion")) or ""
    is_manifest = bool(api_version) or (kind.kind in _OF_NOBODY_ELSE and isinstance(manifest.get("metadata"), Mapping))
    slip = _slip(kind) if is_manifest else None
    if slip is None:
        return None
    namespaced = text(metadata(manifest).get("namespace")) is not None
    kind = kind if kind.kind else kind._replace(kind=NO_KIND)
    return Misnamed(ref=identity(manifest, kind, namespaced), api_version=api_version, slip=slip)


def kinds_of(group: str) -> tuple[str, ...]:
    return _SERVED[group]


def version_of(kind: GroupKind, written: str) -> str:
    """The apiVersion for a kind: with the written version if the kind has it, else with the newest one."""
    version = written.rpartition("/")[2]
    return f"{kind.group}/{version}" if version in versions_of(*kind) else newest_version(Ref(*kind, "", ""))


@lru_cache(maxsize=1024)
def _slip(written: GroupKind) -> Slip | None:
    group, kind = written
    if group in _SERVED:
        if kind in _SERVED[group] or kind.removesuffix("List") in _SERVED[group]:
            return None
        near = _near_kind(kind, group)
        return Slip(False, GroupKind(group, near) if near else None, near == only(kind, _SERVED[group]))
    if group in _OF_KUBERNETES and (slip := _slip_of_kubernetes(group, kind)):
        return slip
    if group in _MORE_GROUPS or not kind:
        return None
    meant = close(group, _SERVED, _NEAR_GROUP) or _named(group, kind)
    if meant is None:
        return None
    return Slip(True, GroupKind(meant, _near_kind(kind, meant) or kind), kind in _SERVED[meant])


def _slip_of_kubernetes(group: str, kind: str) -> Slip | None:
    """A misspelt kind of Kubernetes. Only certain ones, since a newer Kubernetes may have more kinds."""
    judged, others = _OF_KUBERNETES[group]
    every = (*judged, *others)
    if kind in every or kind.removesuffix("List") in every:
        return None
    meant = certain(kind.removesuffix("s"), every) if kind.removesuffix("s") in every else certain(kind, every)
    return Slip(False, GroupKind(group, meant), True) if meant in judged else None


def _named(group: str, kind: str) -> str | None:
    """The group that has the kind, if the written group has only the project's name right, or lacks only this name."""
    if group in _WITHOUT_NAME:
        return KUEUE if kind in _OF_NOBODY_ELSE else None
    labels = group.split(".")
    groups = (
        each
        for place, label in enumerate(labels, 1)
        if not _is_of_others(labels[place:])
        for each in _NAMES.get(label, ())
    )
    return next((each for each in groups if kind in _SERVED[each]), None)


def _is_of_others(domain: Sequence[str]) -> bool:
    """Whether the labels after a project's name are another project's domain: `openshift.io`, not `io` or `k8s.io`."""
    return len(domain) > 1 and ".".join(domain[-2:]) not in _KUBERNETES


def _near_kind(kind: str, group: str) -> str | None:
    by_lower = {each.lower(): each for each in _SERVED[group]}
    near = close(kind.lower(), by_lower, _NEAR_KIND)
    return by_lower[near] if near else None
