"""Finds jobs that have no Workload because their WorkloadPriorityClass does not exist. Such jobs are in no queue."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from cluster.errors import Forbidden, NotFound
from cluster.resource import Manifest, Resource
from cluster.served import FOLLOWED
from policies.dialects.frameworks import SHAPES
from policies.dialects.job_shape import JobShape, at
from policies.dialects.kueue_jobs import PRIORITY_CLASS, QUEUE_NAME, managed_owner
from policies.dialects.kueue_kinds import WORKLOAD_PRIORITY_CLASS
from policies.dialects.labels import is_label_value
from policies.dialects.reading import metadata, owner_references, text, texts
from policies.model.suggestion import missing

Listed = Callable[[Resource, str], Iterable[Manifest]]
"""Lists the objects of a kind that match a label selector. Raises ClusterError."""
CLASSES = FOLLOWED[WORKLOAD_PRIORITY_CLASS]


@dataclass(frozen=True, slots=True)
class JobWithoutWorkload:
    """A job without a Workload. `queue`: the LocalQueue that it names. `message`: the reason and the next step."""

    kind: str
    namespace: str
    name: str
    queue: str
    message: str

    def as_json(self) -> dict[str, str]:
        return {
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "localQueueName": self.queue,
            "message": self.message,
        }


def jobs_without_workload(
    listed: Listed, classes: Collection[str] | None, queued: Container[tuple[str, str, str]]
) -> list[JobWithoutWorkload]:
    """The suspended jobs that name a queue and a class that is not in `classes`, sorted by namespace and name.

    `classes`: the names of the WorkloadPriorityClasses; None if the caller may not list them. Then every such job
    without a Workload is returned. `queued`: the kinds, namespaces and names of the jobs that have a Workload.
    Kinds that are not installed, or that the caller may not list, are left out. Raises ClusterError if a kind cannot be
    read for another reason.
    """
    selector = f"{QUEUE_NAME},{PRIORITY_CLASS}"
    if known := sorted(filter(is_label_value, classes or ())):  # a job cannot name a class with a longer name
        selector += f",{PRIORITY_CLASS} notin ({','.join(known)})"
    found = (each for shape in SHAPES.values() for each in _waiting_jobs(shape, listed, selector, classes))
    missed = (each for each in found if (each.kind, each.namespace, each.name) not in queued)
    return sorted(missed, key=lambda each: (each.namespace, each.name, each.kind))


def _waiting_jobs(
    shape: JobShape, listed: Listed, selector: str, classes: Collection[str] | None
) -> Iterator[JobWithoutWorkload]:
    resource = Resource(shape.kind.group, shape.version, shape.plural, namespaced=True)
    with suppress(NotFound, Forbidden):
        yield from filter(None, (_read(shape, job, classes) for job in listed(resource, selector)))


def _read(shape: JobShape, job: Manifest, classes: Collection[str] | None) -> JobWithoutWorkload | None:
    meta = metadata(job)
    labels = texts(meta.get("labels"))
    queue, named = labels.get(QUEUE_NAME), labels.get(PRIORITY_CLASS)
    if not queue or not named or named in (classes or ()) or managed_owner(meta):
        return None
    if at(job, shape.suspend.path) != shape.suspend.on:
        return None  # it runs, or it has ended
    kind, namespace, name = shape.kind.kind, text(meta.get("namespace")) or "", text(meta.get("name")) or ""
    return JobWithoutWorkload(kind, namespace, name, queue, absent_class(named, classes))


def owners_of(workloads: Iterable[Manifest]) -> set[tuple[str, str, str]]:
    """The kinds, namespaces and names of the jobs that have one of these Workloads."""
    return {
        (str(owner.get("kind")), text(metadata(each).get("namespace")) or "", str(owner.get("name")))
        for each in workloads
        for owner in owner_references(each)
    }


def absent_class(name: str, known: Iterable[str] | None) -> str:
    """Why a job that names this WorkloadPriorityClass has no Workload.

    `known`: the names of the existing classes; None if the caller may not list them.
    """
    if known is None:
        return f"it has no Workload; ask an administrator whether WorkloadPriorityClass {name} exists"
    return missing(WORKLOAD_PRIORITY_CLASS.kind, name, known)
