"""What the reconciler follows of a cluster, and how each object changes the engine's world.

Objects are read in the thread of their reflector, so that nothing but what decisions go by is kept; the loop alone
touches the world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from cluster.resource import NAMESPACES, PRIORITY_CLASSES, Resource
from cluster.stream import Manifest
from policies.amounts.limit_ranges import summarize
from policies.amounts.requests import readable
from policies.dialects.kueue_kinds import GROUP
from policies.dialects.reading import mapping, metadata, text, texts
from policies.model.quantity import Amounts
from reconciler.packed import Packed
from reconciler.patches import WORKLOADS
from reconciler.stored import read_stored
from scheduling.objects.priority import PriorityClasses, read_priority_classes
from scheduling.objects.queue_settings import (
    read_check_settings,
    read_cohort_settings,
    read_local_queue_settings,
    read_queue_settings,
)
from scheduling.objects.reading import read_workload
from scheduling.objects.resource_flavor import read_flavor
from scheduling.world.world import World

K = TypeVar("K")
Key: TypeAlias = tuple[str, str]
"""The kind and `namespace/name`, or the bare name of what is in no namespace."""

VERSION = "v1beta2"


@dataclass(frozen=True, slots=True)
class Seen:
    """An object as it is at a resource version; `value` is what is kept of it, None where it is gone.

    `aside` is what writes need of it beside: all of a Workload, the status and finalizers of a queue.
    """

    key: Key
    version: str
    value: Any
    aside: Any = None


@dataclass(frozen=True, slots=True)
class Listed:
    """All objects of a kind, as they are at a resource version. `asked`: see `Known.ask`; 0: nobody asked for it."""

    kind: str
    objects: tuple[Seen, ...]
    version: str = ""
    asked: int = 0


@dataclass(frozen=True, slots=True)
class Followed:
    """A kind. `read` makes of a manifest what is kept; `put` and `drop` change the world (moment in nanoseconds).

    `labelled`: only objects with this label are followed. `aside` makes what is kept beside `value`. `anew`: whoever
    begins to write reads them anew, since the watch may lag behind what the one before gave away or started.
    """

    kind: str
    resource: Resource
    read: Callable[[Manifest], Any]
    put: Callable[[World, Any, int], None]
    drop: Callable[[World, str, int], None]
    labelled: str | None = None
    aside: Callable[[Manifest], Any] | None = None
    anew: bool = False

    def seen(self, manifest: Manifest, known: Callable[[Key], Seen | None] = lambda _: None) -> Seen:
        """The object as it was read; what is `known` at this version already is not read again."""
        meta = metadata(manifest)
        namespace, name = text(meta.get("namespace")), text(meta.get("name")) or ""
        key = (self.kind, f"{namespace}/{name}" if self.resource.namespaced else name)
        version = text(meta.get("resourceVersion")) or ""
        before = known(key)
        if before is not None and before.version == version != "":
            return before
        aside = self.aside(manifest) if self.aside is not None else None
        return Seen(key, version, self.read(manifest), aside)


def _kueue(plural: str, namespaced: bool = False) -> Resource:
    return Resource(GROUP, VERSION, plural, namespaced)


CLUSTER_QUEUES = _kueue("clusterqueues")
LOCAL_QUEUES = _kueue("localqueues", namespaced=True)
COHORTS = _kueue("cohorts")
LIMIT_RANGES = Resource("", "v1", "limitranges", namespaced=True)
RUNTIME_CLASSES = Resource("node.k8s.io", "v1", "runtimeclasses", namespaced=False)
QUEUE_NAME = "kueue.x-k8s.io/queue-name"


def _put_queue(world: World, value: Any, now: int) -> None:
    settings, terminating = value
    world.put_queue(settings, now, terminating)


def _queue(manifest: Manifest) -> Any:
    return read_queue_settings(manifest), bool(metadata(manifest).get("deletionTimestamp"))


def _namespace(manifest: Manifest) -> Any:
    meta = metadata(manifest)
    return text(meta.get("name")) or "", dict(texts(meta.get("labels")))


def ignore(*_: object) -> None:
    """For kinds that change nothing in the world: others keep them."""


def _identity(manifest: Manifest) -> Manifest:
    return manifest


FOLLOWED: tuple[Followed, ...] = (
    Followed(
        "ResourceFlavor",
        _kueue("resourceflavors"),
        read_flavor,
        lambda world, flavor, _: world.put_flavor(flavor),
        lambda world, name, _: world.drop_flavor(name),
        aside=read_stored,
    ),
    Followed(
        "AdmissionCheck",
        _kueue("admissionchecks"),
        read_check_settings,
        lambda world, check, _: world.put_check(check),
        lambda world, name, _: world.drop_check(name),
        aside=read_stored,
    ),
    Followed("Cohort", COHORTS, read_cohort_settings, World.put_cohort, World.drop_cohort, aside=read_stored),
    Followed("ClusterQueue", CLUSTER_QUEUES, _queue, _put_queue, World.drop_queue, aside=read_stored),
    Followed(
        "Namespace",
        NAMESPACES,
        _namespace,
        lambda world, found, _: world.put_namespace(*found),
        lambda world, name, _: world.drop_namespace(name),
    ),
    Followed(
        "LocalQueue",
        LOCAL_QUEUES,
        read_local_queue_settings,
        World.put_local_queue,
        lambda world, key, _: world.drop_local_queue(key),
        aside=read_stored,
    ),
    Followed("LimitRange", LIMIT_RANGES, _identity, ignore, ignore),
    Followed("RuntimeClass", RUNTIME_CLASSES, _identity, ignore, ignore),
    Followed("WorkloadPriorityClass", _kueue("workloadpriorityclasses"), _identity, ignore, ignore),
    Followed("PriorityClass", PRIORITY_CLASSES, _identity, ignore, ignore),
    Followed("Workload", WORKLOADS, read_workload, ignore, ignore, aside=Packed.of, anew=True),
)
"""In the order in which a world is best made: what others refer to first."""


class Surroundings:
    """LimitRanges, RuntimeClasses and priority classes: they are few and kept whole."""

    KINDS = ("LimitRange", "RuntimeClass", "WorkloadPriorityClass", "PriorityClass")

    def __init__(self) -> None:
        self._ranges: dict[str, dict[str, Manifest]] = {}
        self._classes: dict[str, Manifest] = {}
        self._priorities: dict[Key, Manifest] = {}

    def put(self, world: World, seen: Seen, now: int) -> bool:
        """Take one in, or away where its value is None, and let the world know.

        Whether jobs are prioritized otherwise now.
        """
        kind, key = seen.key
        if kind == "LimitRange":
            namespace, _, name = key.partition("/")
            _replace(self._ranges.setdefault(namespace, {}), name, seen.value)
            world.put_limit_ranges(namespace, summarize(self._ranges[namespace].values()), now)
        elif kind == "RuntimeClass":
            _replace(self._classes, key, seen.value)
            world.put_overheads(self._overheads(), now)
        else:
            before = self._priorities.get(seen.key)
            _replace(self._priorities, seen.key, seen.value)
            return _priorities(before) != _priorities(seen.value)
        return False

    def classes(self) -> PriorityClasses:
        """By which Jobs are prioritized."""
        return read_priority_classes(self._priorities.values())

    def _overheads(self) -> dict[str, Amounts]:
        found = self._classes.items()
        return {name: readable(mapping(each.get("overhead")).get("podFixed")) for name, each in found}


def _priorities(manifest: Manifest | None) -> PriorityClasses:
    return read_priority_classes([manifest] if manifest is not None else [])


def _replace(known: dict[K, Manifest], key: K, value: Manifest | None) -> None:
    if value is None:
        known.pop(key, None)
    else:
        known[key] = value


def by_kind(followed: Iterable[Followed] = FOLLOWED) -> Mapping[str, Followed]:
    return {each.kind: each for each in followed}
