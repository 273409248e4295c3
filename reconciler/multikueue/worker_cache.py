"""The cache of one worker: its connection, our objects there, and its queues."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from policies.dialects.core import POD
from policies.dialects.kueue_jobs import prebuilt_of
from policies.dialects.kueue_owners import controller_of
from policies.dialects.reading import metadata, text
from policies.model.objects import joined, parted
from reconciler.multikueue.remote import (
    REMOTE_CLUSTER_QUEUES,
    REMOTE_COHORTS,
    REMOTE_LOCAL_QUEUES,
    REMOTE_NAMESPACES,
    RemoteClusterQueue,
    RemoteLocalQueue,
)
from reconciler.objects.observed import Key, Listed, Observed, put_or_drop
from reconciler.objects.packed import HasManifest
from reconciler.objects.progress import ListProgress, news
from reconciler.objects.watched import WORKLOAD_VIEW, WatchedKind
from reconciler.objects.workers import WorkerConnection
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.grouped import Grouped
from scheduling.objects.workload import Workload
from scheduling.placement.group import QueueState
from scheduling.quota.tree import QuotaTree

T = TypeVar("T")
Q = TypeVar("Q", RemoteLocalQueue, RemoteClusterQueue)
WORKLOAD = WORKLOAD_VIEW.kind
UNIT = "Pods"
"""The kind in the key of a unit: all Pods of the manager that share a Workload. The name in the key is the Workload's.
"""
_QUEUES = tuple(view.kind for view in (REMOTE_NAMESPACES, REMOTE_LOCAL_QUEUES, REMOTE_CLUSTER_QUEUES, REMOTE_COHORTS))
_NO_JOBS: Mapping[str, WatchedKind[HasManifest]] = {}


@dataclass(frozen=True, slots=True)
class RemoteJobRef:
    """A job or Pod that we created on a worker. `workload`: `namespace/name` of the Workload that it belongs to."""

    key: Key
    packed: HasManifest
    uid: str
    version: str
    workload: str


class WorkerCache:
    """The cache of a worker.

    `views`: the views of jobs and Pods, by kind.
    `jobs`: the jobs and Pods, by the Workload that they belong to.
    """

    def __init__(self, views: Mapping[str, WatchedKind[HasManifest]] = _NO_JOBS) -> None:
        self._views = views
        self.connection = WorkerConnection("connecting")
        self.jobs: Grouped[Key, str, RemoteJobRef] = Grouped()
        self._kinds: defaultdict[str, NewestObjects] = defaultdict(NewestObjects)
        self._tree: QuotaTree | None = None

    # --- observed changes

    def take(self, observed: Observed[object]) -> str | None:
        """Process an object. Returns the workload that it concerns; empty for all that wait, None for no change."""
        kind = observed.key[0]
        self._kinds[kind].progress.advance(kind, observed.version)
        return self._store(observed)

    def _store(self, observed: Observed[object]) -> str | None:
        kind = observed.key[0]
        if kind in self._views:
            return self._store_job(observed)
        before = self.at(observed.key)
        if not self._kinds[kind].take(observed):
            return None
        if kind in _QUEUES:
            self._tree = None
            return "" if before is None or _without_usage(before) != _without_usage(observed) else None
        return observed.key[1]

    def replaced(self, listed: Listed) -> list[str]:
        """Process a list. Returns the workloads that its changes concern, see `take`.

        After a lost connection any version of the list counts, because the worker may have been created again.
        """
        before = self._kinds[listed.kind]
        if not self.connection.connected:
            self._kinds[listed.kind] = before = before.afresh()
        return [name for observed in before.replaced(listed) if (name := self.take(observed)) is not None]

    def answered(self, observed: Observed[object]) -> str | None:
        """Process the response to one of our requests, see `take`. It is ignored if the watch is at a later version.

        Responses may overtake each other, so the progress of the watch does not follow from a response.
        """
        return self._store(observed) if self._kinds[observed.key[0]].is_news(observed) else None

    def _store_job(self, observed: Observed[object]) -> str | None:
        packed = self._views[observed.key[0]].value(observed)
        found = _job_ref(observed.key, packed) if packed is not None else None
        ours = observed if found is not None else Observed(observed.key, observed.version, None)
        if not self._kinds[observed.key[0]].take(ours):
            return None
        before = self.jobs.pop(observed.key)
        if found is None:
            return before.workload if before is not None else observed.key[1]
        self.jobs.put(observed.key, found.workload, found)
        return found.workload

    # --- the objects of the worker

    def get(self, view: WatchedKind[T], name: str) -> Observed[T] | None:
        return self._kinds[view.kind].get(view, name)

    def at(self, key: Key) -> Observed[object] | None:
        return self._kinds[key[0]].at(key)

    def workload(self, name: str) -> Workload | None:
        return self._value(WORKLOAD_VIEW, name)

    def job(self, workload: str, owner: Key | None) -> RemoteJobRef | None:
        """The job of the workload. Others may have the same marks; they count while it does not exist.

        `owner`: the key of the manager's job; None if it is gone.
        """
        known = self.jobs.of(workload)
        return min(known.values(), key=lambda found: not is_copy(owner, found.key), default=None)

    def holds(self, workload: str) -> bool:
        return workload in self.jobs or self.get(WORKLOAD_VIEW, workload) is not None

    def names(self) -> Iterator[str]:
        yield from self.jobs
        yield from (workload.key for workload in self._all(WORKLOAD_VIEW))

    # --- whether a workload could be admitted

    def has_namespace(self, namespace: str) -> bool:
        return not self._listed(REMOTE_NAMESPACES) or self.get(REMOTE_NAMESPACES, namespace) is not None

    def queues(self, workload: Workload) -> tuple[QueueState, QueueState]:
        """The workload's LocalQueue and ClusterQueue. Queues that the credentials may not read count as usable."""
        own, local = self._queue(REMOTE_LOCAL_QUEUES, workload.local_queue)
        if local is None:
            return own, QueueState()
        return own, self._queue(REMOTE_CLUSTER_QUEUES, local.settings.cluster_queue)[0]

    def _queue(self, view: WatchedKind[Q], name: str) -> tuple[QueueState, Q | None]:
        """The state of a queue, and the queue if it is listed."""
        if not self._listed(view):
            return QueueState(name), None
        found = self._value(view, name)
        if found is None:
            return QueueState(name, exists=False), None
        return QueueState(name, True, found.activity.active, found.activity.reason), found

    def free(self, workload: Workload) -> Fraction | None:
        """The free fraction of the quota that the workload could use, for its scarcest resource; 0 if it does not fit.

        None if it is not known.
        """
        local = self._value(REMOTE_LOCAL_QUEUES, workload.local_queue)
        queue = self._value(REMOTE_CLUSTER_QUEUES, local.settings.cluster_queue) if local is not None else None
        if queue is None:
            return None
        shares = [self._free_fraction(queue, resource, amount) for resource, amount in _requests(workload).items()]
        return min(shares, default=None)

    def left(self) -> Iterator[tuple[str, FlavorResource, int]]:
        """The free quota of each ClusterQueue by flavor and resource, in base units and at least 0."""
        tree = self._quota()
        for queue in self._all(REMOTE_CLUSTER_QUEUES):
            node = tree.queues[queue.settings.name]
            for pair in sorted(queue.settings.terms):
                yield node.name, pair, 0 if tree.broken(node) else max(0, node.available(pair))

    def _free_fraction(self, queue: RemoteClusterQueue, resource: str, amount: int) -> Fraction:
        tree = self._quota()
        node = tree.queues[queue.settings.name]
        if tree.broken(node):
            return Fraction(0)
        pairs = [pair for pair in queue.settings.terms if pair.resource == resource]
        free = sum(max(0, node.available(pair)) for pair in pairs)
        total = sum(node.potential(pair) for pair in pairs)
        return Fraction(free, total) if total and free >= amount else Fraction(0)

    def _quota(self) -> QuotaTree:
        if self._tree is None:
            self._tree = tree = QuotaTree()
            for cohort in self._all(REMOTE_COHORTS):
                tree.put_cohort(cohort.name, cohort.parent, cohort.terms, cohort.weight)
            for queue in self._all(REMOTE_CLUSTER_QUEUES):
                settings = queue.settings
                tree.put_queue(settings.name, settings.cohort, settings.terms, settings.weight)
                tree.add(tree.queues[settings.name], queue.reserved)
        return self._tree

    def _all(self, view: WatchedKind[T]) -> list[T]:
        return self._kinds[view.kind].all(view)

    def _listed(self, view: WatchedKind[object]) -> bool:
        return view.kind in self._kinds[view.kind].progress.listed

    def _value(self, view: WatchedKind[T], name: str) -> T | None:
        observed = self.get(view, name)
        return observed.value if observed is not None else None


def is_copy(owner: Key | None, key: Key) -> bool:
    """Whether the object on a worker has the key of a copy of the manager's job, or is a Pod of its unit."""
    return owner is None or key == owner or (owner[0] == UNIT and key[0] == POD.kind)


def _without_usage(observed: Observed[object]) -> object:
    """The queue without its usage, which changes often and does not decide whether the queue accepts workloads."""
    queue = REMOTE_CLUSTER_QUEUES.value(observed)
    return replace(queue, reserved={}) if queue is not None else observed.value


def _job_ref(key: Key, packed: HasManifest) -> RemoteJobRef | None:
    """None for an object that a controller on the worker created. It may have our labels from its template."""
    meta = metadata(packed.manifest())
    if controller_of(meta) is not None:
        return None
    namespace = text(meta.get("namespace")) or ""
    made_for = prebuilt_of(meta) or parted(key[1])[1]
    uid, version = text(meta.get("uid")) or "", text(meta.get("resourceVersion")) or ""
    return RemoteJobRef(key, packed, uid, version, joined(namespace, made_for))


def _requests(workload: Workload) -> Mapping[str, int]:
    """The requests of the workload by resource, from the quota that it has on this cluster."""
    asked: dict[str, int] = {}
    for entry in workload.assignments:
        for resource, amount in entry.usage.items():
            asked[resource] = asked.get(resource, 0) + amount
    return asked


class NewestObjects:
    """The newest version of each object."""

    def __init__(self) -> None:
        self.progress = ListProgress()
        self._objects: dict[Key, Observed[object]] = {}

    def get(self, view: WatchedKind[T], name: str) -> Observed[T] | None:
        return view.find(self._objects, name)

    def at(self, key: Key) -> Observed[object] | None:
        return self._objects.get(key)

    def all(self, view: WatchedKind[T]) -> list[T]:
        return [value for each in self._objects.values() if (value := view.value(each)) is not None]

    def take(self, observed: Observed[object]) -> bool:
        """Store the object. Returns False if nothing has changed."""
        if not news(self._objects.get(observed.key), observed):
            return False
        put_or_drop(self._objects, observed.key, observed if observed.value is not None else None)
        return True

    def replaced(self, listed: Listed) -> list[Observed[object]]:
        """Process a list, see `ListProgress.replace`. Returns the changes."""
        return [*self.progress.replace(listed, self._objects)]

    def afresh(self) -> NewestObjects:
        """The same objects without versions, because another cluster may have other versions of equal objects."""
        other = NewestObjects()
        other._objects = {key: replace(each, version="") for key, each in self._objects.items()}
        return other

    def is_news(self, observed: Observed[object]) -> bool:
        """Whether a response is still relevant. A watch at a later version has already reported the object's end."""
        return observed.key in self._objects or not self.progress.passed(observed)
