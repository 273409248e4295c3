from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.go_values import FALSE, TRUE
from policies.dialects.kueue_jobs import BATCH_JOB, COMPLETIONS_FOLLOW, MIN_PARALLELISM, QueuedJob, min_parallelism
from policies.dialects.kueue_workload import ELASTIC
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import Finding


@rule(
    "partial-admission-invalid",
    source="Kueue: webhook of Job",
    kinds=(BATCH_JOB,),
    alone=True,
    no_cel="concerns work, which goes on while the webhook is down",
)
def partial_admission_invalid(proposal: Proposal) -> Iterator[Finding]:
    """The annotations for partial admission of a Job are invalid.

    Why it is refused: `job-min-parallelism` is the least number of pods that the Job can run with, so it must be below
    parallelism and completions. It is only checked when it changes, since a start with fewer pods lowers parallelism.
    While a Job with this annotation runs, its parallelism cannot change. Completions can follow parallelism only in an
    Indexed Job, and this setting cannot change while the Job runs.
    Example: `kueue.x-k8s.io/job-min-parallelism: "8"` on a Job with `parallelism: 4`.
    Fix: write a whole number of at least 1 and less than parallelism; make the Job Indexed, with `completions` equal to
    `parallelism`.
    """
    slicing = proposal.configuration.kueue.enabled("ElasticJobsViaWorkloadSlices")
    for before, job in proposal.changed(QueuedJob):
        if job.ref.group_kind != BATCH_JOB:
            continue
        least = job.annotations.get(MIN_PARALLELISM)
        if least is not None and (before is None or before.annotations.get(MIN_PARALLELISM) != least):
            yield from _least(job, least, slicing)
        yield from _followed(job)
        if before is not None and before.running:
            yield from _changed(before, job)


def _least(job: QueuedJob, least: str, slicing: bool) -> Iterator[Finding]:
    """The faults of a job-min-parallelism that is new or has changed.

    An unchanged one is not checked: it may equal parallelism after a start with fewer pods.
    """
    parallelism = _parallelism(job)
    pods = parallelism if job.completions is None else min(parallelism, job.completions)
    field = fields.join("metadata.annotations", MIN_PARALLELISM)
    if not 1 <= (min_parallelism(job.annotations) or 0) < pods:
        yield Finding(
            job.ref,
            field,
            f"{least[:40]!r} is not a whole number of at least 1 and less than {pods}, the number of its pods",
            fix="write such a number, or raise parallelism and completions"
            if pods > 1
            else "remove it, or raise parallelism and completions above 1",
            subject=MIN_PARALLELISM,
        )
    if slicing and job.annotations.get(ELASTIC) == "true":
        message = "an elastic job changes its own size, so it cannot be admitted with fewer pods"
        yield Finding(job.ref, field, message, fix=f"remove it, or {ELASTIC}", subject=ELASTIC)


def _followed(job: QueuedJob) -> Iterator[Finding]:
    follows, field = job.annotations.get(COMPLETIONS_FOLLOW), fields.join("metadata.annotations", COMPLETIONS_FOLLOW)
    parallelism = _parallelism(job)
    if follows is None or follows in FALSE:
        return
    if follows not in TRUE:
        message = f"{follows[:40]!r} is neither true nor false"
        yield Finding(job.ref, field, message, fix="write true or false", subject=COMPLETIONS_FOLLOW)
    elif not job.indexed:
        message = "completions can follow parallelism in an Indexed Job only"
        yield Finding(job.ref, field, message, fix="write completionMode: Indexed", subject=COMPLETIONS_FOLLOW)
    elif job.completions != parallelism:
        completions = "not set" if job.completions is None else job.completions
        message = f"completions is {completions}, but must equal the parallelism of {parallelism}"
        yield Finding(job.ref, "spec.completions", message, fix=f"write {parallelism}", subject=COMPLETIONS_FOLLOW)


def _changed(before: QueuedJob, job: QueuedJob) -> Iterator[Finding]:
    """Changes that are not allowed while the Job runs. parallelism must not even change together with `suspend`."""
    old, new = _parallelism(before), _parallelism(job)
    if MIN_PARALLELISM in before.annotations and old != new:
        message = f"parallelism is {new}, but the Job was admitted with {old}"
        yield Finding(job.ref, "spec.parallelism", message, fix="suspend the Job before you change its parallelism")
    then, now = (each.annotations.get(COMPLETIONS_FOLLOW) in TRUE for each in (before, job))
    if job.running and then != now:
        message = "whether completions follow parallelism cannot change while the Job runs"
        field = fields.join("metadata.annotations", COMPLETIONS_FOLLOW)
        yield Finding(job.ref, field, message, fix="suspend the Job first", subject="follows")


def _parallelism(job: QueuedJob) -> int:
    return 1 if job.parallelism is None else job.parallelism
