"""Sets the queue of jobs that the webhook has missed: jobs without one in a namespace with a LocalQueue `default`.

The webhook sets the queue of new jobs. If it cannot be reached, jobs are created without a queue. This controller
labels such jobs, unless they are older than the LocalQueue; the webhook does not label older jobs either.

Then the controller of jobs manages them. It stops a job that runs without quota. If the job belongs to another job that
was admitted for both, it continues to run. Kueue leaves jobs alone that its webhook has missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from cluster.actions import Patch
from cluster.resource import Manifest
from policies.dialects.kueue_jobs import QUEUE_NAME
from policies.dialects.reading import metadata, text, texts
from policies.mutation.kueue_defaults import DEFAULT_QUEUE
from reconciler.controllers.jobs.job_writes import about as about_job
from reconciler.core.controller import Busy, Controller, WaitFor, Wanted
from reconciler.jobs.described import JobKind
from reconciler.jobs.step import JobInputs
from reconciler.objects.bypasses import Bypasses
from reconciler.objects.observed import Key, Observed
from reconciler.objects.patches import JOB_MANAGER
from reconciler.objects.wanted import WantedWrite
from reconciler.objects.watched import LOCAL_QUEUES, WatchedKind
from reconciler.shards.partition import WORK_AT
from scheduling.objects.grouped import Grouped

ASSIGNED = "QueueAssigned"
MISSED = "WithoutQueue"
_MESSAGE = f"It names no queue, so LocalQueue {DEFAULT_QUEUE} of its namespace takes it; the webhook had missed it"


def _created(queue: Manifest) -> str | None:
    """When the LocalQueue `default` was created; None for any other LocalQueue, and for one that is being deleted."""
    meta = metadata(queue)
    there = meta.get("name") == DEFAULT_QUEUE and not meta.get("deletionTimestamp")
    return (text(meta.get("creationTimestamp")) or "") if there else None


DEFAULT_QUEUES: WatchedKind[str] = WatchedKind("DefaultQueue", LOCAL_QUEUES, _created, object_kind="LocalQueue")


class UnqueuedJob(NamedTuple):
    """A job that names no queue. `created`: the creation timestamp as text."""

    uid: str
    created: str


def _views(kind: JobKind) -> Iterator[WatchedKind[UnqueuedJob]]:
    """Two views: the jobs without the queue label, and the jobs whose queue label is empty."""

    def unqueued(job: Manifest) -> UnqueuedJob | None:
        meta = metadata(job)
        if texts(meta.get("labels")).get(QUEUE_NAME) or meta.get("deletionTimestamp") or kind.ending(job):
            return None
        if kind.shape.leaves_out(job):
            return None
        return UnqueuedJob(text(meta.get("uid")) or "", text(meta.get("creationTimestamp")) or "")

    view = WatchedKind(f"{kind.name} without a queue", kind.resource, unqueued, object_kind=kind.name)
    yield replace(view, label_selector=f"!{QUEUE_NAME}")
    yield replace(view, kind=f"{kind.name} with an empty queue", label_selector=QUEUE_NAME)


class DefaultQueuesController(Controller):
    """Writes the queue label. Then the controller of jobs manages the job."""

    def __init__(self, kinds: Iterable[JobKind], bypasses: Bypasses) -> None:
        views = [(view, kind) for kind in kinds for view in _views(kind)]
        self._kinds = {view.kind: kind for view, kind in views}
        self.watched = (DEFAULT_QUEUES, *(view for view, _ in views))
        self._bypasses = bypasses
        self._inputs = JobInputs()
        self._queues: dict[str, str] = {}
        self._jobs: Grouped[Key, str, Observed[UnqueuedJob]] = Grouped()  # by namespace
        self._stale: dict[Key, None] = {}

    def observe(self, observed: Observed[object]) -> None:
        key, namespace = observed.key, observed.key[1].partition("/")[0]
        if key[0] == DEFAULT_QUEUES.kind:
            self._queue_changed(observed, namespace)
            return
        if isinstance(observed.value, UnqueuedJob):
            self._jobs.put(key, namespace, observed)  # type: ignore[arg-type]
            self._stale[key] = None
        elif self._jobs.pop(key) is not None:
            self._bypasses.gone(self._job(key), MISSED)

    def _queue_changed(self, observed: Observed[object], namespace: str) -> None:
        if not observed.key[1].endswith(f"/{DEFAULT_QUEUE}"):
            return
        created = DEFAULT_QUEUES.value(observed)
        if created is None:
            self._queues.pop(namespace, None)
        else:
            self._queues[namespace] = created
        self._stale.update(dict.fromkeys(self._jobs.of(namespace)))

    def inputs_changed(self, inputs: JobInputs) -> None:
        self._inputs = inputs
        for namespace in self._queues:
            self._stale.update(dict.fromkeys(self._jobs.of(namespace)))

    def wake(self, item: Key) -> None:
        self._stale[item] = None

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        self._bypasses.turn(now)
        stale, self._stale = self._stale, {}
        for key in stale:
            namespace = key[1].partition("/")[0]
            job, created = self._jobs.of(namespace).get(key), self._queues.get(namespace)
            if job is None or created is None or job.value.created <= created or not self._inputs.selected(namespace):
                self._bypasses.end(self._job(key), MISSED, now)
                continue
            awaited = (key, (WORK_AT, f"{namespace}/{DEFAULT_QUEUE}"))
            blocked = next((each for each in awaited if busy(*each)), None)
            if blocked is not None:
                yield WaitFor(key, blocked)
                continue
            self._bypasses.seen(self._job(key), MISSED, now)
            yield self._labelled(key, job)
            yield WaitFor(key, key)

    def _job(self, key: Key) -> Key:
        return self._kinds[key[0]].name, key[1]

    def _labelled(self, key: Key, job: Observed[UnqueuedJob]) -> WantedWrite:
        kind = self._kinds[key[0]]
        body = {"metadata": {"labels": {QUEUE_NAME: DEFAULT_QUEUE}}}
        action = Patch(kind.resource, job.namespace, job.name, body, job.version, JOB_MANAGER)
        about = about_job(kind, key, job.value.uid)
        return WantedWrite(key, action, about, ASSIGNED, _MESSAGE, warning=True)
