"""The kinds that the reconciler watches, and how each object changes the scheduler's world.

Objects are read in the thread of their reflector, and only what decisions go by is kept; the core alone changes the
world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from cluster.resource import NAMESPACES, PRIORITY_CLASSES, Resource
from cluster.stream import Manifest
from policies.dialects.kueue_flavor import read_flavor
from policies.dialects.kueue_kinds import GROUP
from policies.dialects.reading import metadata, text, texts
from reconciler.objects.observed import Key, Listed, Observed, name_of
from reconciler.objects.packed import Packed
from reconciler.objects.patches import WORKLOADS
from reconciler.objects.stored import read_stored
from scheduling.objects.queue_settings import (
    read_check_settings,
    read_cohort_settings,
    read_local_queue_settings,
    read_queue_settings,
)
from scheduling.objects.reading import read_workload
from scheduling.world.world import World

K = TypeVar("K")
VERSION = "v1beta2"


def _any(_: object) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class WatchedKind:
    """One view of objects that are listed and watched.

    `kind` names the view. `of`: the kind of the objects, empty where the view bears its name.
    `read` makes of a manifest what decisions go by; `detail` makes what writes need beside it. `put` and `drop` change
    the world (moment in nanoseconds). `label_selector` and `field_selector`: only objects with this label, with these
    fields; `selects` says whether an object that was read is one of them. `relist`: a new leader lists the kind again
    before it decides, since its watch may lag behind what the leader before it wrote.
    """

    kind: str
    resource: Resource
    read: Callable[[Manifest], Any]
    put: Callable[[World, Any, int], None]
    drop: Callable[[World, str, int], None]
    label_selector: str | None = None
    detail: Callable[[Manifest], Any] | None = None
    relist: bool = False
    selects: Callable[[Any], bool] = _any
    field_selector: str | None = None
    of: str = ""

    def observed(self, manifest: Manifest, known: Callable[[Key], Observed | None] = lambda _: None) -> Observed:
        """The object as it was read; what is `known` at this version already is not read again."""
        meta = metadata(manifest)
        key = (self.kind, name_of(meta, namespaced=self.resource.namespaced))
        version = text(meta.get("resourceVersion")) or ""
        before = known(key)
        if before is not None and before.version == version != "":
            return before
        detail = self.detail(manifest) if self.detail is not None else None
        return Observed(key, version, self.read(manifest), detail)


@dataclass(frozen=True, slots=True)
class WatchedResource:
    """Objects that one reflector follows: those of a resource that the selectors choose. `views` are what is read of
    each, at least one.
    """

    views: tuple[WatchedKind, ...]

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
        """Whether a new leader lists it again, for one of its views."""
        return any(view.relist for view in self.views)

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(view.kind for view in self.views)

    def observed(
        self, manifest: Manifest, known: Callable[[Key], Observed | None] = lambda _: None
    ) -> tuple[Observed, ...]:
        """The object in each view, in their order; see `WatchedKind.observed`."""
        return tuple(view.observed(manifest, known) for view in self.views)


def lists_of(
    watched: WatchedResource, objects: Iterable[tuple[Observed, ...]], version: str, request: int = 0
) -> Iterator[Listed]:
    """The list of each view. `objects`: each in all views. See `Listed` for the rest."""
    views = [*zip(*objects, strict=True)] or [()] * len(watched.views)
    for view, found in zip(watched.views, views, strict=True):
        yield Listed(view.kind, found, version, request)


def by_resource(watched: Iterable[WatchedKind]) -> tuple[WatchedResource, ...]:
    """One for each resource and selector, in the order of their first views."""
    found: dict[tuple[Resource, str | None, str | None], list[WatchedKind]] = {}
    for each in watched:
        found.setdefault((each.resource, each.label_selector, each.field_selector), []).append(each)
    return tuple(WatchedResource(tuple(views)) for views in found.values())


def _kueue(plural: str, namespaced: bool = False) -> Resource:
    return Resource(GROUP, VERSION, plural, namespaced)


CLUSTER_QUEUES = _kueue("clusterqueues")
LOCAL_QUEUES = _kueue("localqueues", namespaced=True)
COHORTS = _kueue("cohorts")
LIMIT_RANGES = Resource("", "v1", "limitranges", namespaced=True)
RUNTIME_CLASSES = Resource("node.k8s.io", "v1", "runtimeclasses", namespaced=False)
PRIORITY_CLASS = "PriorityClass"
QUEUE_NAME = "kueue.x-k8s.io/queue-name"


def _put_queue(world: World, value: Any, now: int) -> None:
    settings, terminating = value
    world.put_queue(settings, now, terminating)


def _queue(manifest: Manifest) -> Any:
    return read_queue_settings(manifest), bool(metadata(manifest).get("deletionTimestamp"))


def _local_queue(manifest: Manifest) -> Any:
    return read_local_queue_settings(manifest), bool(metadata(manifest).get("deletionTimestamp"))


def _put_local_queue(world: World, value: Any, now: int) -> None:
    """One that is on its way out takes no more work: it is as good as gone."""
    settings, terminating = value
    if terminating:
        world.drop_local_queue(settings.key)
    else:
        world.put_local_queue(settings, now)


def _namespace(manifest: Manifest) -> Any:
    meta = metadata(manifest)
    return text(meta.get("name")) or "", dict(texts(meta.get("labels")))


def ignore(*_: object) -> None:
    """For kinds that change nothing in the world: others keep them."""


def _identity(manifest: Manifest) -> Manifest:
    return manifest


WATCHED_KINDS: tuple[WatchedKind, ...] = (
    WatchedKind(
        "ResourceFlavor",
        _kueue("resourceflavors"),
        read_flavor,
        lambda world, flavor, _: world.put_flavor(flavor),
        lambda world, name, _: world.drop_flavor(name),
        detail=read_stored,
    ),
    WatchedKind(
        "AdmissionCheck",
        _kueue("admissionchecks"),
        read_check_settings,
        lambda world, check, _: world.put_check(check),
        lambda world, name, _: world.drop_check(name),
        detail=read_stored,
    ),
    WatchedKind("Cohort", COHORTS, read_cohort_settings, World.put_cohort, World.drop_cohort, detail=read_stored),
    WatchedKind("ClusterQueue", CLUSTER_QUEUES, _queue, _put_queue, World.drop_queue, detail=read_stored, relist=True),
    WatchedKind(
        "Namespace",
        NAMESPACES,
        _namespace,
        lambda world, found, _: world.put_namespace(*found),
        lambda world, name, _: world.drop_namespace(name),
    ),
    WatchedKind(
        "LocalQueue",
        LOCAL_QUEUES,
        _local_queue,
        _put_local_queue,
        lambda world, key, _: world.drop_local_queue(key),
        detail=read_stored,
    ),
    WatchedKind("LimitRange", LIMIT_RANGES, _identity, ignore, ignore),
    WatchedKind("RuntimeClass", RUNTIME_CLASSES, _identity, ignore, ignore),
    WatchedKind("WorkloadPriorityClass", _kueue("workloadpriorityclasses"), _identity, ignore, ignore),
    WatchedKind(PRIORITY_CLASS, PRIORITY_CLASSES, _identity, ignore, ignore),
    WatchedKind("Workload", WORKLOADS, read_workload, ignore, ignore, detail=Packed.of, relist=True),
)
"""In the order in which a world is best made: what others refer to comes first."""


def watched_kinds(*, boosted: bool) -> tuple[WatchedKind, ...]:
    """`boosted`: the annotation priority-boost of Workloads adds to their priority."""
    read = partial(read_workload, boosted=boosted)
    return tuple(replace(each, read=read) if each.kind == "Workload" else each for each in WATCHED_KINDS)


def by_kind(watched: Iterable[WatchedKind] = WATCHED_KINDS) -> Mapping[str, WatchedKind]:
    return {each.kind: each for each in watched}
