"""What is followed of a cluster: which objects, and what is kept of each."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cluster.resource import CONFIG_MAPS, NAMESPACES, PODS, PRIORITY_CLASSES, Resource
from cluster.stream import Manifest
from policies.configuration.settings import YuniKornSettings
from policies.dialects import core, kueue, read, volcano, yunikorn
from policies.dialects.kueue_kinds import ADMISSION_CHECK, MULTIKUEUE_CLUSTER, MULTIKUEUE_CONFIG
from policies.dialects.priority_class import PRIORITY_CLASS
from policies.dialects.reading import identity, mapping, metadata
from policies.dialects.yunikorn_config.configmap import CONFIG_MAP, refs
from policies.model.objects import GroupKind, KubeObject, Ref

log = logging.getLogger(__name__)


def _kueue(plural: str, *versions: str, namespaced: bool = False) -> tuple[Resource, ...]:
    return tuple(Resource(kueue.GROUP, version, plural, namespaced) for version in versions)


FOLLOWED: Mapping[GroupKind, tuple[Resource, ...]] = {
    kueue.COHORT: _kueue("cohorts", "v1beta2", "v1beta1", "v1alpha1"),
    kueue.CLUSTER_QUEUE: _kueue("clusterqueues", "v1beta2", "v1beta1"),
    kueue.LOCAL_QUEUE: _kueue("localqueues", "v1beta2", "v1beta1", namespaced=True),
    kueue.RESOURCE_FLAVOR: _kueue("resourceflavors", "v1beta2", "v1beta1"),
    ADMISSION_CHECK: _kueue("admissionchecks", "v1beta2", "v1beta1"),
    MULTIKUEUE_CONFIG: _kueue("multikueueconfigs", "v1beta2", "v1beta1"),
    MULTIKUEUE_CLUSTER: _kueue("multikueueclusters", "v1beta2", "v1beta1"),
    volcano.QUEUE: (Resource(volcano.GROUP, "v1beta1", "queues", namespaced=False),),
    volcano.POD_GROUP: (Resource(volcano.GROUP, "v1beta1", "podgroups", namespaced=True),),
    volcano.JOB: (Resource(volcano.JOB.group, "v1alpha1", "jobs", namespaced=True),),
    core.NAMESPACE: (NAMESPACES,),
    PRIORITY_CLASS: (PRIORITY_CLASSES,),
    CONFIG_MAP: (CONFIG_MAPS,),
    core.POD: (PODS,),
}
"""The kinds that rules read, each in the versions that its project serves or has served, the newest first."""

_OF_YUNIKORN = (PRIORITY_CLASS, CONFIG_MAP, core.POD)

AT_WORK = f"spec.schedulerName={yunikorn.SCHEDULER},status.phase!=Succeeded,status.phase!=Failed"
"""The Pods that count for YuniKorn. The API server picks them out; one that ends is told as a deletion."""

_POD_LABELS = frozenset([core.APP_ID, "applicationId", "spark-app-selector", yunikorn.QUEUE, "queue"])
_POD_ANNOTATIONS = frozenset([core.APP_ID, yunikorn.QUEUE, yunikorn.USER_INFO])


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An object that is there and of which nothing is known, since reading it failed: a fault of ours."""

    ref: Ref
    fault: str

    def __str__(self) -> str:
        return (
            f"{self.ref} cannot be read ({self.fault}); this is a fault of quotree: report it with the manifest, and"
            " correct or delete the object meanwhile"
        )


@dataclass(frozen=True, slots=True)
class Source:
    """One list and watch: all objects of a kind, or those that the API server selects by namespace, name or `where`.

    `where` is a field selector. `trim` leaves of a manifest what rules read of it.
    """

    kind: GroupKind
    versions: tuple[Resource, ...]
    namespace: str | None = None
    name: str | None = None
    where: str = ""
    trim: Callable[[Manifest], Manifest] | None = None

    @property
    def field_selector(self) -> str:
        return ",".join(filter(None, [f"metadata.name={self.name}" if self.name else "", self.where]))

    def covers(self, ref: Ref) -> bool:
        """Whether the object would be in this list, as far as its identity tells."""
        return ref.group_kind == self.kind and self.namespace in (None, ref.namespace) and self.name in (None, ref.name)

    def keep(self, manifest: Manifest) -> KubeObject | Unreadable | None:
        """The typed object, without the rest of its manifest. Defects travel with it.

        Dialects read anything; if one fails all the same, that stops no other object from being followed.
        """
        try:
            return read(self.trim(manifest) if self.trim else manifest)
        except Exception as error:
            ref = identity(manifest, self.kind, self.versions[0].namespaced)
            log.exception("%s cannot be read", ref)
            return Unreadable(ref, f"{type(error).__name__}: {error}"[:200])

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.namespace}/{self.name}" if self.name else self.kind.kind


def sources(settings: YuniKornSettings | None = None) -> tuple[Source, ...]:
    """Everything to be followed. Where YuniKorn is said to be there: PriorityClasses, its two ConfigMaps, its Pods."""
    settings = settings or YuniKornSettings()
    found = [Source(kind, versions) for kind, versions in FOLLOWED.items() if kind not in _OF_YUNIKORN]
    if settings.follow:
        found.append(Source(PRIORITY_CLASS, (PRIORITY_CLASSES,)))
        found += [Source(CONFIG_MAP, (CONFIG_MAPS,), ref.namespace, ref.name) for ref in refs(settings.namespace)]
        found.append(Source(core.POD, (PODS,), where=AT_WORK, trim=_pod))
    return tuple(found)


def _pod(manifest: Manifest) -> Manifest:
    """Where the Pod belongs in YuniKorn, and nothing else of it: there may be many."""
    meta = metadata(manifest)
    labels, annotations = (mapping(meta.get(key)) for key in ("labels", "annotations"))
    kept = {key: meta.get(key) for key in ("name", "namespace")}
    kept["labels"] = {key: labels[key] for key in _POD_LABELS & labels.keys()}
    kept["annotations"] = {key: annotations[key] for key in _POD_ANNOTATIONS & annotations.keys()}
    scheduler = mapping(manifest.get("spec")).get("schedulerName")
    return {"apiVersion": "v1", "kind": "Pod", "metadata": kept, "spec": {"schedulerName": scheduler}}
