from __future__ import annotations

from collections.abc import Iterable, Iterator

from policies.dialects.volcano import JOB, VolcanoJob
from policies.dialects.volcano_job import WrittenTask
from policies.judging.rule import Proposal, rule
from policies.model.findings import Finding
from policies.model.objects import Ref


@rule("min-available-exceeds-replicas", source="Volcano's webhook jobs/validate: minAvailable", kinds=(JOB,))
def min_available_exceeds_replicas(proposal: Proposal) -> Iterator[Finding]:
    """A Volcano Job, or one of its tasks, needs more pods at once than it ever creates.

    Why it is refused: the Job waits forever for the missing pods, and keeps what it has reserved.
    Example: `minAvailable: 5` with two tasks of 2 replicas each.
    Fix: lower `minAvailable` to the sum of the replicas, or raise the replicas.
    """
    for _, job in proposal.changed(VolcanoJob):
        for task in job.spec.tasks:
            if task.min_available is not None and task.min_available > task.replicas:
                of = f"task {task.name} creates {_pods(task.replicas)}"
                yield _finding(job.ref, f"{task.field}.minAvailable", task.min_available, task.replicas, of, [task])
        most = sum(task.replicas for task in job.spec.tasks)
        if job.spec.tasks and job.spec.min_available is not None and job.spec.min_available > most:
            of = f"its tasks create {_pods(most)} in all"
            yield _finding(job.ref, "spec.minAvailable", job.spec.min_available, most, of, job.spec.tasks)


def _finding(job: Ref, field: str, wanted: int, most: int, of: str, tasks: Iterable[WrittenTask]) -> Finding:
    return Finding(
        job,
        field,
        f"minAvailable is {wanted}, but {of}",
        fix=f"lower minAvailable to {most} or less, or raise the replicas",
        excess=wanted - most,
        follows=tuple((job, f"{task.field}.replicas") for task in tasks),
    )


def _pods(number: int) -> str:
    return "1 pod" if number == 1 else f"{number} pods"
