from __future__ import annotations

from collections.abc import Iterator, Mapping

from policies.configuration.settings import Configuration
from policies.dialects.core import POD, Pod
from policies.dialects.go_values import read_count
from policies.dialects.job_shape import JobShape
from policies.dialects.kueue_jobs import (
    IDENTIFIERS,
    KINDS,
    MANAGED,
    MAX_SECONDS,
    POD_GROUP,
    POD_GROUP_SIZE,
    PREBUILT,
    QUEUE_NAME,
    SUSPENDED_BY,
    QueuedJob,
    identifier,
)
from policies.dialects.kueue_workload import ELASTIC
from policies.dialects.labels import is_domain
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Action, Finding

Fault = tuple[str, str, str, str]
"""A fault as (labels or annotations, key, message, fix)."""


@rule(
    "job-label-invalid",
    source="Kueue: webhooks of every kind of job",
    kinds=(*KINDS, POD),
    alone=True,
    no_cel="concerns work, which goes on while the webhook is down",
)
def job_label_invalid(proposal: Proposal) -> Iterator[Finding]:
    """A label of Kueue on a job or Pod has a value that Kueue cannot use.

    Why it is refused: Kueue reads the queue, the time and the group of a job only from labels and annotations. With an
    empty name, the name of a queue that cannot exist, a time that is not a number, or a pod group without a size, the
    job waits forever or runs without quota. A Pod with the label of managed Pods whose owner is managed as well gets a
    warning. So does a new job with a queue that the webhook suspends, and that the reconciler does not run.
    Example: `kueue.x-k8s.io/queue-name: Team_A`; `max-exec-time-seconds: 1h`; a pod-group-name without its total count.
    Fix: write names in lower case with letters, digits, `-` and `.`; write times and counts as whole numbers above 0.
    """
    gates = proposal.configuration.kueue
    slicing, annotated = (gates.enabled(gate) for gate in ("ElasticJobsViaWorkloadSlices", IDENTIFIERS))
    for before, job in proposal.changed(QueuedJob):
        if before is None and job.queue and _never_starts(job, proposal.configuration):
            yield Finding(
                job.ref,
                fields.join("metadata.labels", QUEUE_NAME),
                f"it stays suspended, since the reconciler does not run jobs of kind {job.ref.kind}",
                fix="describe the kind under reconciler.jobs, or leave it out of kueue.frameworks",
                subject=f"never starts {QUEUE_NAME}",
                profiles=STRICT_ONLY,
                action=Action.WARN,
            )
        yield from _findings(job, _common(job.labels, job.annotations, job.framework.prebuilt, job.ref.kind))
        if slicing and job.annotations.get(ELASTIC) == "true" and not job.framework.elastic:
            message = f"a {job.ref.kind} cannot change its size while it runs"
            yield from _findings(job, iter([("annotations", ELASTIC, message, f"remove {ELASTIC}")]))
    for _, pod in proposal.changed(Pod):
        yield from _findings(pod, _common(pod.labels, pod.annotations, True, "Pod"))
        yield from _findings(pod, _grouped(pod, annotated=annotated))
        yield from _managed_twice(pod)


def _never_starts(job: QueuedJob, configuration: Configuration) -> bool:
    """Whether the webhook suspends such jobs, and no description says how the reconciler runs them."""
    framework = configuration.framework(job.ref.group_kind)
    suspends = configuration.kueue.manage_jobs and framework is not None and framework.suspend is not None
    return suspends and not isinstance(framework, JobShape)


def _managed_twice(pod: Pod) -> Iterator[Finding]:
    if pod.labels.get(MANAGED) == "true" and pod.owner and SUSPENDED_BY not in pod.annotations:
        yield Finding(
            pod.ref,
            fields.join("metadata.labels", MANAGED),
            f"its owner {pod.owner} is managed already, so its pods would be counted twice",
            fix=f"remove {MANAGED} from the pods of a managed job",
            subject=f"owner {MANAGED}",
            action=Action.WARN,
        )


def _findings(job: QueuedJob | Pod, faults: Iterator[Fault]) -> Iterator[Finding]:
    for where, key, message, fix in faults:
        yield Finding(job.ref, fields.join("metadata", where, key), message, fix=fix, subject=key)


def _common(labels: Mapping[str, str], annotations: Mapping[str, str], prebuilt: bool, kind: str) -> Iterator[Fault]:
    name = "write lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
    values = [("labels", QUEUE_NAME, labels[QUEUE_NAME])] if QUEUE_NAME in labels else []
    values += [(where, PREBUILT, value) for where, value in _given(labels, annotations, PREBUILT)]
    for where, key, value in values:
        if not value:
            yield where, key, "is empty", f"write a name, or remove the {where.removesuffix('s')}"
        elif not is_domain(value):
            yield where, key, f"{value[:80]!r} is not a valid object name", name
        if key == PREBUILT and not prebuilt:
            yield where, PREBUILT, f"a {kind} cannot use an existing Workload", f"remove {PREBUILT}"
    seconds = labels.get(MAX_SECONDS)
    if seconds is not None and read_count(seconds) is None:
        yield (
            "labels",
            MAX_SECONDS,
            f"{seconds[:40]!r} is not a whole number of seconds above 0",
            'write "3600" for an hour',
        )


def _given(labels: Mapping[str, str], annotations: Mapping[str, str], key: str) -> Iterator[tuple[str, str]]:
    """The values of an identifier, each as (labels or annotations, value), since both may have it."""
    for where, values in (("annotations", annotations), ("labels", labels)):
        if key in values:
            yield where, values[key]


def _grouped(pod: Pod, *, annotated: bool) -> Iterator[Fault]:
    """The faults of the labels of a pod group. `annotated`: whether an annotation may name the group."""
    managed, size = pod.labels.get(MANAGED), pod.annotations.get(POD_GROUP_SIZE)
    given = [*_given(pod.labels, pod.annotations if annotated else {}, POD_GROUP)]
    if managed not in (None, "true"):
        yield "labels", MANAGED, f"{managed[:40]!r} has no effect; the only value is true", "write true, or remove it"
    for where, group in given:
        if not is_domain(group):
            fix = "write lower-case letters, digits, '-' and '.'"
            yield where, POD_GROUP, f"{group[:80]!r} is not a valid group name", fix
    if given and size is None:
        group = f"group {given[0][1][:80]} of {POD_GROUP}"
        message = f"{group} has no size, so Kueue cannot know when it is complete"
        yield "annotations", POD_GROUP_SIZE, message, f"write {POD_GROUP_SIZE}"
    if size is not None and not given:
        yield "labels", POD_GROUP, f"a group of {size[:40]} pods has no name", f"write {POD_GROUP}"
    if size is not None and read_count(size) is None:
        yield "annotations", POD_GROUP_SIZE, f"{size[:40]!r} is not a whole number above 0", "write the number of pods"
    yield from _two_workloads(pod, annotated=annotated)


def _two_workloads(pod: Pod, *, annotated: bool) -> Iterator[Fault]:
    """The fault of a Pod that names a group and another Workload: that of a group has the name of the group."""
    keys = (POD_GROUP, PREBUILT)
    group, prebuilt = (identifier(pod.labels, pod.annotations, key, annotated=annotated) for key in keys)
    if group and prebuilt and group != prebuilt:
        where = next(where for where, _ in _given(pod.labels, pod.annotations, PREBUILT))
        message = f"the Pod is of group {group[:80]}, but names Workload {prebuilt[:80]}"
        yield where, PREBUILT, message, f"write {group[:80]}, or remove one of both"
