from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import POD, Pod
from policies.dialects.kueue_jobs import BATCH_JOB, KINDS, STATEFUL_SET, QueuedJob
from policies.dialects.kueue_templates import JobPods
from policies.dialects.kueue_workload import ELASTIC
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model import fields
from policies.model.findings import Finding
from policies.model.objects import GroupKind
from policies.rules.kueue._topology_annotations import GROUP, LEVELS, faults, group_faults

_ONE_BY_ONE = (GroupKind("apps", "Deployment"), STATEFUL_SET)
"""Kinds that may have no pods now and many later."""


@rule(
    "topology-annotation-invalid",
    source="Kueue: webhooks of jobs and Pods",
    kinds=(*KINDS, POD),
    alone=True,
    no_cel="concerns work, which goes on while the webhook is down",
)
def topology_annotation_invalid(proposal: Proposal) -> Iterator[Finding]:
    """The topology annotations of a job's pods contradict each other, or are invalid.

    Why it is refused: pods can be required or preferred to run in one topology domain, or may run anywhere; two of
    these contradict each other. A level that is not a node label, or slices without a size, fit nowhere. A group of pod
    sets is one pod and the pods around it, so it has exactly two pod sets that request the same topology. There are at
    most three layers of slices, each of another level, and each size divides the one before it.
    Example: `podset-required-topology: rack` beside `podset-preferred-topology: block`.
    Fix: keep one of the three; write the node label of the level; give slices both a level and a size.
    """
    if not proposal.configuration.kueue.enabled("TopologyAwareScheduling"):
        return
    slicing = proposal.configuration.kueue.enabled("ElasticJobsViaWorkloadSlices")
    for _, job in proposal.changed(QueuedJob):
        for pods in job.pod_sets:
            count = None if job.ref.group_kind in _ONE_BY_ONE else pods.count
            for key, message, fix in faults(pods.annotations, count):
                yield Finding(job.ref, _at(pods, key), message, fix=fix, subject=key)
        for pods, message, fix in group_faults(job.pod_sets):
            yield Finding(job.ref, _at(pods, GROUP), message, fix=fix, subject=f"members {GROUP}")
        if slicing and job.ref.group_kind == BATCH_JOB and job.annotations.get(ELASTIC) == "true":
            yield from _elastic(job)
    for _, pod in proposal.changed(Pod):
        for key, message, fix in faults(pod.annotations, None):
            yield Finding(pod.ref, fields.join("metadata.annotations", key), message, fix=fix, subject=key)


def _elastic(job: QueuedJob) -> Iterator[Finding]:
    for pods in job.pod_sets:
        for key in LEVELS[:2]:
            if key in pods.annotations:
                message = "an elastic job changes its size, so its pods cannot be kept in one topology domain"
                fix = "let the pods run anywhere"
                yield Finding(job.ref, _at(pods, key), message, fix=fix, subject=f"elastic {key}")


def _at(pods: JobPods, key: str) -> str:
    return fields.join(f"{pods.at}.metadata.annotations", key)
