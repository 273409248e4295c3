from __future__ import annotations

from collections.abc import Iterator

from policies.configuration.kueue.gates import KueueVersion
from policies.configuration.settings import KueueSettings
from policies.dialects.core import POD, Pod
from policies.dialects.frameworks import kubeflow, wrapped
from policies.dialects.job_shape import PodsAt
from policies.dialects.kueue_jobs import BATCH_JOB, KINDS, LEADER_WORKER_SET, STATEFUL_SET, QueuedJob
from policies.dialects.kueue_workload import ELASTIC
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import BOTH, STRICT_ONLY, Finding
from policies.model.objects import GroupKind
from policies.rules.kueue._topology_annotations import GROUP, LEVELS, faults, group_faults, offset_faults

_ONE_BY_ONE = (GroupKind("apps", "Deployment"), STATEFUL_SET)
"""The kinds that may have no pods now and many later."""
_UNREAD = (*_ONE_BY_ONE, wrapped.APP_WRAPPER)
"""The kinds whose topology Kueue 0.19 does not validate. Kueue 0.20 validates that of a StatefulSet."""
_MPI_JOB = GroupKind("kubeflow.org", "MPIJob")
_UNGROUPED = tuple(each.kind for each in kubeflow.FRAMEWORKS if each.kind != _MPI_JOB)
"""Kueue validates single pod sets of these kinds, but not groups of pod sets."""
_NUMBERED = (_MPI_JOB, LEADER_WORKER_SET)
"""Kueue 0.20 validates pod-index-offset of these kinds."""


@rule(
    "topology-annotation-invalid",
    source="Kueue: webhooks of jobs and Pods",
    kinds=(*KINDS, POD),
    alone=True,
    no_cel="concerns work, which goes on while the webhook is down",
)
def topology_annotation_invalid(proposal: Proposal) -> Iterator[Finding]:
    """The topology annotations of a job's pods contradict each other, or are invalid.

    Why it is refused: pods can be required or preferred to run in one topology domain, or may run anywhere. Two of
    these contradict each other. A level must be a node label, and slices need a size. A group of pod sets is a leader
    and its workers, so it has exactly two pod sets, which request the same topology. There are at most three layers of
    slices, each with another level, and each size divides the one before it. In Kueue 0.20, the first of several sizes
    also divides the number of pods. The annotation pod-index-offset is a number. The profile `compat` refuses only what
    Kueue refuses, which does not validate all kinds.
    Example: `podset-required-topology: rack` together with `podset-preferred-topology: block`.
    Fix: keep one of the three annotations, write the node label of the level, and give slices both a level and a size.
    """
    settings = proposal.configuration.kueue
    for _, pod in proposal.changed(Pod):  # as in Kueue, even if the feature gate is off
        for key, message, fix in faults(pod.annotations, None, settings.enabled):
            yield Finding(pod.ref, fields.join("metadata.annotations", key), message, fix=fix, subject=key)
    for _, job in proposal.changed(QueuedJob) if settings.enabled("TopologyAwareScheduling") else ():
        unread = {defect.field for defect in job.defects}  # bad-structure reports them
        yield from (finding for finding in _of_job(job, settings) if finding.field not in unread)


def _of_job(job: QueuedJob, settings: KueueSettings) -> Iterator[Finding]:
    kind, newer = job.ref.group_kind, settings.version is not KueueVersion.V0_19
    read = BOTH if kind not in _UNREAD or (newer and kind == STATEFUL_SET) else STRICT_ONLY
    for pods in job.pod_sets:
        count = None if kind in _ONE_BY_ONE else pods.count
        for key, message, fix in faults(pods.annotations, count, settings.enabled):
            yield Finding(job.ref, _at(pods, key), message, fix=fix, subject=key, profiles=read)
        numbered = BOTH if newer and kind in _NUMBERED else STRICT_ONLY
        for key, message, fix in offset_faults(pods.annotations):
            yield Finding(job.ref, _at(pods, key), message, fix=fix, subject=key, profiles=numbered)
    grouped = STRICT_ONLY if kind in (*_UNREAD, *_UNGROUPED) else BOTH
    for pods, message, fix in group_faults(job.pod_sets):
        yield Finding(job.ref, _at(pods, GROUP), message, fix=fix, subject=f"members {GROUP}", profiles=grouped)
    slicing = settings.enabled("ElasticJobsViaWorkloadSlices")
    if slicing and kind == BATCH_JOB and job.annotations.get(ELASTIC) == "true":
        yield from _elastic(job)


def _elastic(job: QueuedJob) -> Iterator[Finding]:
    for pods in job.pod_sets:
        for key in LEVELS[:2]:
            if key in pods.annotations:
                message = "an elastic job changes its size, so its pods cannot be kept in one topology domain"
                fix = "let the pods run anywhere"
                yield Finding(job.ref, _at(pods, key), message, fix=fix, subject=f"elastic {key}")


def _at(pods: PodsAt, key: str) -> str:
    return fields.join(f"{pods.at}.metadata.annotations", key)
