from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue_jobs import BATCH_JOB, COMPLETIONS_FOLLOW, MIN_PARALLELISM, QueuedJob
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
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

    Why it is refused: `job-min-parallelism` is the least number of pods that the Job can run with. A number that is not
    below parallelism leaves nothing to reduce. Completions can follow parallelism in an Indexed Job only.
    Example: `kueue.x-k8s.io/job-min-parallelism: "8"` on a Job with `parallelism: 4`.
    Fix: write a whole number from 1 to one less than parallelism; make the Job Indexed, with `completions` equal to
    `parallelism`.
    """
    for before, job in proposal.changed(QueuedJob):
        if job.ref.group_kind != BATCH_JOB:
            continue
        pods = 1 if job.parallelism is None else job.parallelism
        least = job.annotations.get(MIN_PARALLELISM)
        if least is not None and not (least.isdecimal() and least.isascii() and 1 <= int(least[:12]) < pods):
            yield Finding(
                job.ref,
                fields.join("metadata.annotations", MIN_PARALLELISM),
                f"{least[:40]!r} is not a whole number from 1 to {pods - 1}, one less than the parallelism of {pods}",
                fix="write a smaller number, or raise parallelism" if pods > 1 else "raise parallelism above 1",
                subject=MIN_PARALLELISM,
            )
        yield from _followed(job, pods)
        if before is not None and least is not None and before.running and job.running:
            yield from _resized(before, job, pods)


def _followed(job: QueuedJob, pods: int) -> Iterator[Finding]:
    follows, field = job.annotations.get(COMPLETIONS_FOLLOW), fields.join("metadata.annotations", COMPLETIONS_FOLLOW)
    if follows is None or follows.lower() in ("f", "false", "0"):
        return
    if follows.lower() not in ("t", "true", "1"):
        message = f"{follows[:40]!r} is neither true nor false"
        yield Finding(job.ref, field, message, fix="write true or false", subject=COMPLETIONS_FOLLOW)
    elif not job.indexed:
        message = "completions can follow parallelism in an Indexed Job only"
        yield Finding(job.ref, field, message, fix="write completionMode: Indexed", subject=COMPLETIONS_FOLLOW)
    elif job.completions != pods:
        message = f"completions is {job.completions or 'not set'}, but must equal the parallelism of {pods}"
        yield Finding(job.ref, "spec.completions", message, fix=f"write {pods}", subject=COMPLETIONS_FOLLOW)


def _resized(before: QueuedJob, job: QueuedJob, pods: int) -> Iterator[Finding]:
    old = 1 if before.parallelism is None else before.parallelism
    if old != pods:
        yield Finding(
            job.ref,
            "spec.parallelism",
            f"parallelism is {pods}, but the Job was admitted with {old}",
            fix="suspend the Job before you change its parallelism",
        )
