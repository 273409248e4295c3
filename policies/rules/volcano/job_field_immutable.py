from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.volcano import JOB, VolcanoJob
from policies.judging.rule import Proposal, rule
from policies.model.findings import Finding

_MAY = "only minAvailable, priorityClassName, and the replicas and minAvailable of tasks may change"


@rule("job-field-immutable", source="Volcano's webhook jobs/validate: update", kinds=(JOB,))
def job_field_immutable(proposal: Proposal) -> Iterator[Finding]:
    """An immutable field of a stored Volcano Job changes.

    Why it is refused: the pods of the Job were created from its old fields. With another queue, for example, the Job
    would be counted in one queue and run in the other.
    Example: `queue: eng` becomes `queue: web`; a task is added; the image of a task changes.
    Fix: change only the number of pods, or delete and recreate the Job.
    """
    for before, job in proposal.changed(VolcanoJob):
        if before is None:
            continue
        old, new = dict(before.spec.fixed), dict(job.spec.fixed)
        for field in sorted({*old, *new}):
            if old.get(field) != new.get(field):
                yield Finding(
                    job.ref,
                    field if field in new else "spec.tasks" if field.startswith("spec.tasks") else "spec",
                    f"{_description(field, old, new)}; {_MAY}",
                    fix="leave it as it is, or delete and recreate the Job",
                    subject=field,
                )


def _description(field: str, old: dict[str, int], new: dict[str, int]) -> str:
    if field not in old and field.startswith("spec.tasks"):
        return "a task is added"
    if field not in new and field.startswith("spec.tasks"):
        return "a task is removed"
    name = field.removeprefix("spec.")
    if field not in new:
        return f"{name} is removed"
    return f"{name} changes after the Job was created"
