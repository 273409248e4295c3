"""The Workloads that wait in a LocalQueue and the jobs that will get a Workload, with the requests of their pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from policies.amounts.requests import fewest_pods, template_requests
from policies.dialects.core import POD, Pod
from policies.dialects.job_shape import PodsAt
from policies.dialects.kueue import LOCAL_QUEUE, WORKLOAD, ClusterQueue, LocalQueue
from policies.dialects.kueue_flavor import Flavor, ResourceFlavor
from policies.dialects.kueue_jobs import BATCH_JOB, IDENTIFIERS, KINDS, PREBUILT, QueuedJob, identifier, min_parallelism
from policies.dialects.kueue_kinds import RESOURCE_FLAVOR
from policies.dialects.kueue_workload import WrittenPodSet, WrittenWorkload
from policies.dialects.reading import mapping
from policies.dialects.yunikorn_work import CRON_JOB, JOB_LABELS, OtherWork
from policies.judging.rule import Proposal
from policies.model import fields
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.rules.kueue._topology_annotations import asked_levels, asked_units, requested_levels, requested_units

_UNSAID = "default"
"""The namespace that is assumed for manifests without one."""


class RequestedPodSet(NamedTuple):
    """One pod set with the requests of its pods, as quota counts them.

    `name`, `field`: the name of the pod set, and its path in the object.
    `requests`: the amount of each resource, for all pods together.
    `spec`, `spec_at`: the spec of each pod, and its path.
    `levels`: the topology levels that the pods request, each as (path, name). An empty name stands for any domain.
    `units`: the groups of pods that have to be in one domain of a level, each as (path, level, number of pods).
    """

    name: str
    field: str
    requests: Mapping[str, int]
    spec: Mapping[str, Any]
    spec_at: str
    levels: tuple[tuple[str, str], ...] = ()
    units: tuple[tuple[str, str, int], ...] = ()

    @property
    def of_one_pod(self) -> Mapping[str, int]:
        """The requests of one pod."""
        return template_requests({"spec": self.spec}, 1)


class Submission(NamedTuple):
    """A Workload or a job that is submitted to a LocalQueue.

    `local`: the LocalQueue.
    `whole`: the path of the field that has all pod sets.
    """

    ref: Ref
    local: Ref
    pod_sets: tuple[RequestedPodSet, ...]
    whole: str


@dataclass(frozen=True)
class NamedQueues:
    """Finds the LocalQueues that jobs name. A manifest in files may have no namespace, and can be applied in any
    one."""

    proposal: Proposal

    @property
    def of_files(self) -> bool:
        """Whether the objects are from files: only a request to an API server has a user."""
        return bool(self.proposal.unknown(WORKLOAD)) and not self.proposal.circumstances.user.name

    @cached_property
    def namespaces(self) -> Mapping[str, list[str]]:
        """The namespaces with a LocalQueue, by its name. It visits all objects: only for files or after a failure."""
        found: dict[str, list[str]] = {}
        for obj in self.proposal.after.objects():
            if isinstance(obj, LocalQueue):
                found.setdefault(obj.ref.name, []).append(obj.ref.namespace)
        return found

    def may_be_elsewhere(self, namespace: str) -> bool:
        """Whether a manifest with this namespace may in fact have none, and be applied in another one."""
        return namespace == _UNSAID and self.of_files

    def is_certain(self, namespace: str, queue: str) -> bool:
        """Whether a job in this namespace certainly means the LocalQueue of this namespace."""
        return not self.may_be_elsewhere(namespace) or self.namespaces.get(queue, []) in ([], [namespace])


def submissions(proposal: Proposal) -> tuple[Submission, ...]:
    """The Workloads that wait for quota and the jobs that will get a Workload, if their requests are new.

    A job in files that may be meant for LocalQueues of several namespaces is left out.
    """
    return proposal.once(_submissions)


def _submissions(proposal: Proposal) -> Iterator[Submission]:
    known = NamedQueues(proposal)
    for before, workload in proposal.changed(WrittenWorkload):
        if workload.queue is None or workload.reserved:
            continue
        if before is None or (before.pod_sets, before.queue) != (workload.pod_sets, workload.queue):
            pod_sets = (_of_pod_set(workload, pod_set) for pod_set in workload.pod_sets)
            yield Submission(workload.ref, workload.queue, tuple(pod_sets), "spec.podSets")
    annotated = proposal.configuration.kueue.enabled(IDENTIFIERS)
    for old, job in proposal.changed(QueuedJob):
        name = job.queue
        if not name or job.owner or identifier(job.labels, job.annotations, PREBUILT, annotated=annotated):
            continue
        new = old is None or (old.pod_sets, old.queue) != (job.pod_sets, name)
        if new and known.is_certain(job.ref.namespace, name):
            pod_sets = (_of_pods(job, pods) for pods in job.pod_sets)
            yield Submission(job.ref, LOCAL_QUEUE.named(name, job.ref.namespace), tuple(pod_sets), "spec")


class Labelled(NamedTuple):
    """The labels that Kueue reads on a job, a Pod or a CronJob, before and after the change. `at`: their path."""

    ref: Ref
    at: str
    before: Mapping[str, str]
    now: Mapping[str, str]

    def new(self, key: str) -> str:
        """The value of the label if it has changed, else empty."""
        value = self.now.get(key, "")
        return value if self.before.get(key) != value else ""

    @property
    def waits(self) -> str:
        """The part of a message that says that the job waits."""
        return "its Jobs wait" if self.ref.group_kind == CRON_JOB else f"the {self.ref.kind} waits"


LABELLED = (*KINDS, POD, CRON_JOB)


def labelled(proposal: Proposal) -> Iterator[Labelled]:
    """The labels of all changed jobs, Pods and CronJobs. Objects with an owner are omitted: they are queued with it."""
    for old, job in proposal.changed(QueuedJob):
        if not job.owner:
            yield Labelled(job.ref, "metadata.labels", old.labels if old else {}, job.labels)
    for before, pod in proposal.changed(Pod):
        if not pod.owner:
            yield Labelled(pod.ref, "metadata.labels", before.labels if before else {}, pod.labels)
    for was, work in proposal.changed(OtherWork):
        yield Labelled(work.ref, JOB_LABELS, was.job_labels if was else {}, work.job_labels)


def _of_pod_set(workload: WrittenWorkload, pod_set: WrittenPodSet) -> RequestedPodSet:
    pods = fewest_pods(workload, pod_set)
    found = _requests(pod_set.name, pod_set.field, pod_set.template, f"{pod_set.field}.template", pods)
    request = mapping(pod_set.content.get("topologyRequest"))
    at = f"{pod_set.field}.topologyRequest"
    return found._replace(
        levels=tuple((f"{at}.{key}", level) for key, level in requested_levels(request)),
        units=tuple((f"{at}.{key}", level, size) for key, level, size in requested_units(request, pods)),
    )


def _of_pods(job: QueuedJob, pods: PodsAt) -> RequestedPodSet:
    """The pod set of a job. A batch Job counts with its job-min-parallelism, since it may start with that many pods."""
    fewer = min_parallelism(job.annotations) if job.ref.group_kind == BATCH_JOB else None
    count = pods.count if fewer is None else min(pods.count, fewer)
    found = _requests(pods.name, pods.at, pods.counted, pods.at, count)
    notes = f"{pods.at}.metadata.annotations"
    return found._replace(
        levels=tuple((fields.join(notes, key), level) for key, level in asked_levels(pods.annotations)),
        units=tuple(
            (fields.join(notes, key), level, size) for key, level, size in asked_units(pods.annotations, count)
        ),
    )


def _requests(name: str, field: str, template: Mapping[str, Any], template_at: str, pods: int) -> RequestedPodSet:
    amounts = {**template_requests(template, pods), "pods": pods}  # some ClusterQueues have quota for `pods`
    requests = {resource: amount for resource, amount in amounts.items() if amount}
    return RequestedPodSet(name, field, requests, mapping(template.get("spec")), f"{template_at}.spec")


def queue_of(forest: Forest, submitted: Submission) -> ClusterQueue | None:
    """The ClusterQueue of its LocalQueue; None if one of the two does not exist."""
    local = forest.get(submitted.local)
    queue = forest.node(local.queue) if isinstance(local, LocalQueue) and local.queue else None
    return queue if isinstance(queue, ClusterQueue) else None


def flavors_of(forest: Forest, queue: ClusterQueue) -> Mapping[str, Flavor] | None:
    """The flavors of the queue by name; None if one of them does not exist."""
    found: dict[str, Flavor] = {}
    for name in (flavor.name for group in queue.in_force for flavor in group.flavors):
        flavor = forest.get(RESOURCE_FLAVOR.named(name))
        if not isinstance(flavor, ResourceFlavor):
            return None
        found[name] = flavor.flavor
    return found
