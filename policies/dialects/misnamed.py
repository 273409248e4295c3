"""Manifests whose kind or group is nearly one that Quotree judges: no API server knows them.

Other projects have a Queue, a Job or a Workload too. So a kind alone is not enough: it is compared in our groups only,
and a group that differs by more than a slip counts as somebody else's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from policies.dialects.kueue_kinds import GROUP as KUEUE
from policies.dialects.newest import newest_version
from policies.dialects.reading import Manifest, identity, metadata, text
from policies.model.objects import GroupKind, KubeObject, Ref
from policies.model.suggestion import certain, close, only
from policies.schema.structure import versions_of

OTHER = GroupKind("", "any other kind")
"""Stands for every kind that no reader has, where rules say which kinds they judge."""

_SERVED = {
    KUEUE: (
        "AdmissionCheck",
        "CapacityProvider",
        "ClusterQueue",
        "Cohort",
        "DynamicQuotaOrchestrator",
        "LocalQueue",
        "MultiKueueCluster",
        "MultiKueueConfig",
        "PreemptionConfig",
        "ProvisioningRequestConfig",
        "ResourceFlavor",
        "Topology",
        "Workload",
        "WorkloadPriorityClass",
    ),
    "scheduling.volcano.sh": ("PodGroup", "Queue"),
    "batch.volcano.sh": ("CronJob", "Job"),
    "bus.volcano.sh": ("Command",),
}
"""Group -> its kinds, those that Quotree does not read among them. Source: Kueue v0.20, Volcano v1.15."""
_OF_KUBERNETES = {
    "": (
        ("ConfigMap", "Namespace", "Pod"),
        (
            "Binding",
            "ComponentStatus",
            "Endpoints",
            "Event",
            "LimitRange",
            "List",
            "Node",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
            "Status",
        ),
    ),
    "apps": (("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"), ("ControllerRevision",)),
    "batch": (("CronJob", "Job"), ()),
}
"""Group of Kubernetes itself -> the kinds that are judged, and those that are not. Source: Kubernetes 1.36."""
_MORE_GROUPS = (
    f"config.{KUEUE}",
    f"visibility.{KUEUE}",
    "config.volcano.sh",
    "flow.volcano.sh",
    "nodeinfo.volcano.sh",
    "shard.volcano.sh",
    "topology.volcano.sh",
    "training.volcano.sh",
)
"""Groups of the two projects whose kinds are not compared."""
_OF_NOBODY_ELSE = ("ClusterQueue", "LocalQueue", "ResourceFlavor", "WorkloadPriorityClass", "ProvisioningRequestConfig")
_WITHOUT_NAME = ("", "x-k8s.io", "k8s.io", "kueue")
"""The parts of Kueue's group that remain if one part is missing."""
_KUBERNETES = ("k8s.io", "x-k8s.io", "kubernetes.io")
_NAMES = {"kueue": (KUEUE,), "volcano": ("scheduling.volcano.sh", "batch.volcano.sh")}
_NEAR_GROUP = 0.85
"""`scheduling.volcano.io` is as near to `.sh` as 0.9; the nearest group of anybody else, `jobset.x-k8s.io`, is 0.7."""
_NEAR_KIND = 0.75


@dataclass(frozen=True, slots=True)
class Slip:
    """A fault in the group or the kind of a manifest.

    `meant`: the kind that is meant; None if no kind of the group has a similar name.
    `certain`: whether one of the two is right, and the other can only mean `meant`.
    """

    at_group: bool
    meant: GroupKind | None
    certain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Misnamed(KubeObject):
    """An object of a kind that nobody serves."""

    slip: Slip

    @property
    def judged_as(self) -> GroupKind:
        return OTHER


def read_misnamed(manifest: Manifest, kind: GroupKind) -> Misnamed | None:
    """The object; None for the kinds of others."""
    api_version = text(manifest.get("apiVersion"))
    slip = _slip(kind) if api_version else None
    if api_version is None or slip is None:
        return None
    namespaced = text(metadata(manifest).get("namespace")) is not None
    return Misnamed(ref=identity(manifest, kind, namespaced), api_version=api_version, slip=slip)


def kinds_of(group: str) -> tuple[str, ...]:
    return _SERVED[group]


def version_of(kind: GroupKind, written: str) -> str:
    """`kueue.x-k8s.io/v1beta1`: the version that is written if the kind has it, else the newest."""
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
    """The likely kind of Kubernetes, for certain slips only: a newer Kubernetes may have more kinds."""
    judged, others = _OF_KUBERNETES[group]
    every = (*judged, *others)
    if kind in every or kind.removesuffix("List") in every:
        return None
    meant = certain(kind.removesuffix("s"), every) if kind.removesuffix("s") in every else certain(kind, every)
    return Slip(False, GroupKind(group, meant), True) if meant in judged else None


def _named(group: str, kind: str) -> str | None:
    """The group that has the kind, where the project's name is all that is right in the group, or all that lacks."""
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
    """Whether what follows a project's name is a domain with an owner: `openshift.io`, not `io` or `k8s.io`."""
    return len(domain) > 1 and ".".join(domain[-2:]) not in _KUBERNETES


def _near_kind(kind: str, group: str) -> str | None:
    by_lower = {each.lower(): each for each in _SERVED[group]}
    near = close(kind.lower(), by_lower, _NEAR_KIND)
    return by_lower[near] if near else None
