"""The objects of a cluster to list and watch, and the parts of each object to keep."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from cluster.resource import CONFIG_MAPS, NODES, PODS, PRIORITY_CLASSES, Manifest, Resource
from cluster.served import FOLLOWED
from cluster.sightings import scope
from policies.configuration.settings import YuniKornSettings
from policies.dialects import core, read, yunikorn
from policies.dialects.core import CONFIG_MAP
from policies.dialects.priority_class import PRIORITY_CLASS
from policies.dialects.reading import identity, mapping, metadata
from policies.dialects.yunikorn_config.configmap import refs
from policies.model.objects import GroupKind, KubeObject, Ref

log = logging.getLogger(__name__)


_OF_YUNIKORN = (PRIORITY_CLASS, CONFIG_MAP, core.POD)


_POD_LABELS = frozenset([core.APP_ID, "applicationId", "spark-app-selector", yunikorn.QUEUE, "queue"])
_POD_ANNOTATIONS = frozenset([core.APP_ID, yunikorn.QUEUE, yunikorn.USER_INFO])


def at_work(scheduler: str) -> str:
    """The field selector of a scheduler's Pods that have not ended. A watch with it shows one that ends as deleted."""
    return f"spec.schedulerName={scheduler},status.phase!=Succeeded,status.phase!=Failed"


@dataclass(frozen=True, slots=True)
class UnreadableObject:
    """An object that a dialect failed to read because of an internal error. `fault`: the exception."""

    ref: Ref
    fault: str

    def __str__(self) -> str:
        return (
            f"{self.ref} cannot be read ({self.fault}); this is a bug in quotree: report it with the manifest, and"
            " change or delete the object until it is fixed"
        )


@dataclass(frozen=True, slots=True)
class WatchSource:
    """One list and watch: all objects of a kind, or those selected by namespace, name or the field selector `where`.

    `versions`: the API versions to try, newest first.
    `trim`: removes the fields of a manifest that rules do not read.
    `orchestrated`: see `policies.dialects.readers.read`.
    `optional`: if the caller may not list these objects, the others are read without them.
    """

    kind: GroupKind
    versions: tuple[Resource, ...]
    namespace: str | None = None
    name: str | None = None
    where: str = ""
    trim: Callable[[Manifest], Manifest] | None = None
    orchestrated: bool = False
    optional: bool = False

    @property
    def field_selector(self) -> str:
        return ",".join(filter(None, [f"metadata.name={self.name}" if self.name else "", self.where]))

    @property
    def scope(self) -> str:
        """The name of this watch in `Sightings.progress`."""
        return scope(Ref(*self.kind, self.namespace or "", self.name or ""))

    def covers(self, ref: Ref) -> bool:
        """Whether the object would be in this list, by its kind, namespace and name."""
        return ref.group_kind == self.kind and self.namespace in (None, ref.namespace) and self.name in (None, ref.name)

    def keep(self, manifest: Manifest) -> KubeObject | UnreadableObject | None:
        """The typed object with its defects, without the rest of the manifest.

        Dialects should accept any manifest. If one raises nevertheless, the result is an UnreadableObject, so that
        other objects are still followed.
        """
        try:
            return read(self.trim(manifest) if self.trim else manifest, orchestrated=self.orchestrated)
        except Exception as error:
            ref = identity(manifest, self.kind, self.versions[0].namespaced)
            log.exception("%s cannot be read", ref)
            return UnreadableObject(ref, f"{type(error).__name__}: {error}"[:200])

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.namespace}/{self.name}" if self.name else self.kind.kind


def sources(settings: YuniKornSettings | None = None, *, orchestrated: bool = False) -> tuple[WatchSource, ...]:
    """All sources to follow. PriorityClasses, YuniKorn's two ConfigMaps and its Pods depend on `settings`.

    `orchestrated`: see `policies.dialects.readers.read`.
    """
    settings = settings or YuniKornSettings()
    found = [
        WatchSource(kind, versions, orchestrated=orchestrated)
        for kind, versions in FOLLOWED.items()
        if kind not in _OF_YUNIKORN
    ]
    if settings.follow:
        found.append(WatchSource(PRIORITY_CLASS, (PRIORITY_CLASSES,)))
        found += [WatchSource(CONFIG_MAP, (CONFIG_MAPS,), ref.namespace, ref.name) for ref in refs(settings.namespace)]
        found.append(WatchSource(core.POD, (PODS,), where=at_work(yunikorn.SCHEDULER), trim=_pod))
    return tuple(found)


NODES_ONCE = WatchSource(core.NODE, (NODES,), optional=True)
"""The source of Nodes, for commands that read a cluster once. Nodes change too often for a watch."""


def _pod(manifest: Manifest) -> Manifest:
    """The Pod with only the fields that YuniKorn reads to place it, since there may be many Pods."""
    meta = metadata(manifest)
    labels, annotations = (mapping(meta.get(key)) for key in ("labels", "annotations"))
    kept = {key: meta.get(key) for key in ("name", "namespace")}
    kept["labels"] = {key: labels[key] for key in _POD_LABELS & labels.keys()}
    kept["annotations"] = {key: annotations[key] for key in _POD_ANNOTATIONS & annotations.keys()}
    scheduler = mapping(manifest.get("spec")).get("schedulerName")
    return {"apiVersion": "v1", "kind": "Pod", "metadata": kept, "spec": {"schedulerName": scheduler}}
