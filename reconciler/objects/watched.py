"""The kinds that the reconciler watches, and how each object changes the scheduler's world.

Objects are read in the thread of their reflector, and only what decisions use is kept. Only the thread of the core
changes the world.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeAlias, TypeVar

from cluster.resource import NAMESPACES, PRIORITY_CLASSES, Manifest, Resource
from policies.amounts.devices import ClaimTemplate, DeviceClass, read_claim_template, read_device_class
from policies.dialects.kueue_flavor import Flavor, read_flavor
from policies.dialects.kueue_kinds import GROUP
from policies.dialects.reading import metadata, text, texts
from reconciler.objects.observed import Key, Listed, Observed, name_of
from reconciler.objects.packed import Packed
from reconciler.objects.patches import WORKLOADS
from reconciler.objects.stored import Stored, read_stored
from scheduling.objects.queue_settings import (
    CheckSettings,
    ClusterQueueSettings,
    CohortSettings,
    LocalQueueSettings,
    read_check_settings,
    read_cohort_settings,
    read_local_queue_settings,
    read_queue_settings,
)
from scheduling.objects.reading import read_workload
from scheduling.objects.workload import Workload
from scheduling.world.world import World

log = logging.getLogger(__name__)
T_co = TypeVar("T_co", covariant=True)
Known: TypeAlias = Callable[[Key], Observed[object] | None]
"""Returns the object that was read before, at any version; None if there was none."""
VERSION = "v1beta2"


def _any(_: object) -> bool:
    return True


def _nothing(_: Key) -> None:
    return None


def _ignore(*_: object) -> None:
    """The world does not have the objects of this kind; controllers keep them."""


@dataclass(frozen=True, slots=True)
class WatchedKind(Generic[T_co]):
    """One view of objects that are listed and watched. Each object is read as a `T_co`.

    `kind`: the name of the view.
    `object_kind`: the kind of the objects; empty if it equals the name of the view.
    `read`: reads the value from a manifest; returns None to ignore the object.
    `detail`: reads what writes need besides the value.
    `put`, `drop`: change the world. They get the present time in nanoseconds.
    `label_selector`, `field_selector`: what the API server selects by.
    `selects`: whether an object that was read matches the selectors.
    `on_demand`: the kind is not watched before the core needs it.
    `relist`: a new leader lists the kind again before it decides, because its watch may be late and lack writes of the
        previous leader.

    From objects in all views (`Observed[object]`), `of`, `value` and `find` select those of this view. They use
    `type: ignore`, because a call of `cast` takes as long as the comparison. No other code narrows the type of observed
    objects. `T_co` is covariant, because a view only returns what was observed in it.
    """

    kind: str
    resource: Resource
    read: Callable[[Manifest], T_co | None]
    put: Callable[[World, T_co, int], None] = _ignore
    drop: Callable[[World, str, int], None] = _ignore
    label_selector: str | None = None
    detail: Callable[[Manifest], Stored | Packed] | None = None
    relist: bool = False
    selects: Callable[[T_co], bool] = _any
    field_selector: str | None = None
    object_kind: str = ""
    on_demand: bool = False

    # --- how a manifest is read in this view

    def identity(self, meta: Mapping[str, object]) -> tuple[Key, str]:
        """The key and the version of an object in this view, from its metadata."""
        name = name_of(meta, namespaced=self.resource.namespaced)
        return (self.kind, name), text(meta.get("resourceVersion")) or ""

    def observed(self, manifest: Manifest, known: Known = _nothing) -> Observed[T_co | None]:
        """The object as it was read. If `known` returns this version, the object is not read again."""
        key, version = self.identity(metadata(manifest))
        before = known(key)
        if before is not None and before.version == version != "":
            return before  # type: ignore[return-value]
        detail = self.detail(manifest) if self.detail is not None else None
        return Observed(key, version, self.read(manifest), detail)

    # --- what was observed in this view

    def of(self, observed: Observed[object] | None) -> Observed[T_co] | None:
        """The object; None if it is gone, or was observed in another view."""
        if observed is None or observed.key[0] != self.kind or observed.value is None:
            return None
        return observed  # type: ignore[return-value]

    def value(self, observed: Observed[object] | None) -> T_co | None:
        """The value of the object; None if it is gone, or was observed in another view."""
        if observed is None or observed.key[0] != self.kind:
            return None
        return observed.value  # type: ignore[return-value]

    def find(self, objects: Mapping[Key, Observed[object]], name: str) -> Observed[T_co] | None:
        """The object with this name, from objects in any view."""
        return objects.get((self.kind, name))  # type: ignore[return-value]

    def selected(self, observed: Observed[object]) -> bool:
        """Whether the watch selects this object, which must be of this view."""
        return observed.value is None or self.selects(observed.value)  # type: ignore[arg-type]

    def change(self, world: World, observed: Observed[object], now: int) -> None:
        """Update the world. The object must be of this view. `now` is in nanoseconds."""
        if observed.value is None:
            self.drop(world, observed.key[1], now)
        else:
            self.put(world, observed.value, now)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class WatchedResource:
    """What one reflector watches: a resource, with the same selectors for all views.

    `views`: how each object is read; at least one.
    """

    views: tuple[WatchedKind[object], ...]

    @property
    def resource(self) -> Resource:
        return self.views[0].resource

    @property
    def label_selector(self) -> str | None:
        return self.views[0].label_selector

    @property
    def field_selector(self) -> str | None:
        return self.views[0].field_selector

    @property
    def relist(self) -> bool:
        """Whether a new leader lists the resource again, because one of its views needs that."""
        return any(view.relist for view in self.views)

    @property
    def on_demand(self) -> bool:
        """Whether the resource is watched only when the core needs it."""
        return all(view.on_demand for view in self.views)

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(view.kind for view in self.views)

    def observed(self, manifest: Manifest, known: Known = _nothing) -> tuple[Observed[object], ...]:
        """The object in each view, in the order of the views. See `WatchedKind.observed`.

        If a view fails to read an object, it keeps the object as it was, so that the watch continues.
        """
        return tuple(_observed(view, manifest, known) for view in self.views)


def _observed(view: WatchedKind[object], manifest: Manifest, known: Known) -> Observed[object]:
    try:
        return view.observed(manifest, known)
    except Exception:
        key, version = view.identity(metadata(manifest))
        before = known(key)
        log.exception("%s %s cannot be read; its last readable version is used, if there is one", *key)
        return Observed(key, version, None) if before is None else replace(before, version=version)


def lists_of(
    watched: WatchedResource, objects: Iterable[tuple[Observed[object], ...]], version: str, request: int = 0
) -> Iterator[Listed]:
    """The list of each view. `objects`: each object in all views. For the other parameters, see `Listed`."""
    views = [*zip(*objects, strict=True)] or [()] * len(watched.views)
    for view, found in zip(watched.views, views, strict=True):
        yield Listed(view.kind, found, version, request)


def by_resource(watched: Iterable[WatchedKind[object]]) -> tuple[WatchedResource, ...]:
    """One watched resource for each combination of resource and selectors, in the order of the first views."""
    found: dict[tuple[Resource, str | None, str | None], list[WatchedKind[object]]] = {}
    for each in watched:
        found.setdefault((each.resource, each.label_selector, each.field_selector), []).append(each)
    return tuple(WatchedResource(tuple(views)) for views in found.values())


def _kueue(plural: str, namespaced: bool = False) -> Resource:
    return Resource(GROUP, VERSION, plural, namespaced)


CLUSTER_QUEUES = _kueue("clusterqueues")
LOCAL_QUEUES = _kueue("localqueues", namespaced=True)
COHORTS = _kueue("cohorts")
FLAVORS = _kueue("resourceflavors")
LIMIT_RANGES = Resource("", "v1", "limitranges", namespaced=True)
RUNTIME_CLASSES = Resource("node.k8s.io", "v1", "runtimeclasses", namespaced=False)
PRIORITY_CLASS = "PriorityClass"
QUEUE_NAME = "kueue.x-k8s.io/queue-name"


def _queue(manifest: Manifest, *, orchestrated: bool = False) -> tuple[ClusterQueueSettings, bool]:
    """The settings of the ClusterQueue, and whether it is being deleted."""
    return read_queue_settings(manifest, orchestrated=orchestrated), bool(metadata(manifest).get("deletionTimestamp"))


def _put_queue(world: World, value: tuple[ClusterQueueSettings, bool], now: int) -> None:
    settings, terminating = value
    world.put_queue(settings, now, terminating)


def _local_queue(manifest: Manifest) -> tuple[LocalQueueSettings, bool]:
    """The settings of the LocalQueue, and whether it is being deleted."""
    return read_local_queue_settings(manifest), bool(metadata(manifest).get("deletionTimestamp"))


def _put_local_queue(world: World, value: tuple[LocalQueueSettings, bool], now: int) -> None:
    """Put a LocalQueue into the world. If it is being deleted, it accepts no work, and counts as gone."""
    settings, terminating = value
    if terminating:
        world.drop_local_queue(settings.key)
    else:
        world.put_local_queue(settings, now)


def _namespace(manifest: Manifest) -> tuple[str, dict[str, str]]:
    """The name and the labels of the Namespace."""
    meta = metadata(manifest)
    return text(meta.get("name")) or "", dict(texts(meta.get("labels")))


def _identity(manifest: Manifest) -> Manifest:
    return manifest


FLAVOR_VIEW: WatchedKind[Flavor] = WatchedKind(
    "ResourceFlavor",
    FLAVORS,
    read_flavor,
    lambda world, flavor, _: world.put_flavor(flavor),
    lambda world, name, _: world.drop_flavor(name),
    detail=read_stored,
)
CHECK_VIEW: WatchedKind[CheckSettings] = WatchedKind(
    "AdmissionCheck",
    _kueue("admissionchecks"),
    read_check_settings,
    lambda world, check, _: world.put_check(check),
    lambda world, name, _: world.drop_check(name),
    detail=read_stored,
)
COHORT_VIEW: WatchedKind[CohortSettings] = WatchedKind(
    "Cohort", COHORTS, read_cohort_settings, World.put_cohort, World.drop_cohort, detail=read_stored
)
CLUSTER_QUEUE_VIEW: WatchedKind[tuple[ClusterQueueSettings, bool]] = WatchedKind(
    "ClusterQueue", CLUSTER_QUEUES, _queue, _put_queue, World.drop_queue, detail=read_stored, relist=True
)
NAMESPACE_VIEW: WatchedKind[tuple[str, dict[str, str]]] = WatchedKind(
    "Namespace",
    NAMESPACES,
    _namespace,
    lambda world, found, _: world.put_namespace(*found),
    lambda world, name, _: world.drop_namespace(name),
)
LOCAL_QUEUE_VIEW: WatchedKind[tuple[LocalQueueSettings, bool]] = WatchedKind(
    "LocalQueue",
    LOCAL_QUEUES,
    _local_queue,
    _put_local_queue,
    lambda world, key, _: world.drop_local_queue(key),
    detail=read_stored,
)
LIMIT_RANGE_VIEW: WatchedKind[Manifest] = WatchedKind("LimitRange", LIMIT_RANGES, _identity)
RUNTIME_CLASS_VIEW: WatchedKind[Manifest] = WatchedKind("RuntimeClass", RUNTIME_CLASSES, _identity)
DEVICE_CLASS_VIEW: WatchedKind[DeviceClass] = WatchedKind(
    "DeviceClass",
    Resource("resource.k8s.io", "v1", "deviceclasses", namespaced=False),
    read_device_class,
    lambda world, found, _: world.put_device_class(found),
    lambda world, name, _: world.drop_device_class(name),
)
CLAIM_TEMPLATE_VIEW: WatchedKind[ClaimTemplate] = WatchedKind(
    "ResourceClaimTemplate",
    Resource("resource.k8s.io", "v1", "resourceclaimtemplates", namespaced=True),
    read_claim_template,
    lambda world, found, _: world.put_claim_template(found),
    lambda world, key, _: world.drop_claim_template(key),
)
DEVICE_VIEWS: tuple[WatchedKind[object], ...] = (DEVICE_CLASS_VIEW, CLAIM_TEMPLATE_VIEW)
"""These are watched only if devices are counted."""
PRIORITY_VIEWS: tuple[WatchedKind[Manifest], ...] = (
    WatchedKind("WorkloadPriorityClass", _kueue("workloadpriorityclasses"), _identity),
    WatchedKind(PRIORITY_CLASS, PRIORITY_CLASSES, _identity),
)
WORKLOAD_VIEW: WatchedKind[Workload] = WatchedKind("Workload", WORKLOADS, read_workload, detail=Packed.of, relist=True)
WATCHED_KINDS: tuple[WatchedKind[object], ...] = (
    FLAVOR_VIEW,
    CHECK_VIEW,
    COHORT_VIEW,
    CLUSTER_QUEUE_VIEW,
    NAMESPACE_VIEW,
    LOCAL_QUEUE_VIEW,
    LIMIT_RANGE_VIEW,
    RUNTIME_CLASS_VIEW,
    *PRIORITY_VIEWS,
    WORKLOAD_VIEW,
)
"""In the order in which a world is built: kinds to which others refer come first."""


def watched_kinds(*, boosted: bool, orchestrated: bool, devices: bool) -> tuple[WatchedKind[object], ...]:
    """All kinds of the core.

    `boosted`: whether the annotation priority-boost of a Workload adds to its priority.
    `orchestrated`: whether `status.effectiveQuotas` of a ClusterQueue replaces the quotas in its spec.
    `devices`: whether devices are counted.
    """
    readers: Mapping[str, Callable[[Manifest], object]] = {
        WORKLOAD_VIEW.kind: partial(read_workload, boosted=boosted),
        COHORT_VIEW.kind: partial(read_cohort_settings, orchestrated=orchestrated),
        CLUSTER_QUEUE_VIEW.kind: partial(_queue, orchestrated=orchestrated),
    }
    every = (*(DEVICE_VIEWS if devices else ()), *WATCHED_KINDS)
    return tuple(replace(each, read=readers.get(each.kind, each.read)) for each in every)


def by_kind(watched: Iterable[WatchedKind[object]] = WATCHED_KINDS) -> Mapping[str, WatchedKind[object]]:
    return {each.kind: each for each in watched}
