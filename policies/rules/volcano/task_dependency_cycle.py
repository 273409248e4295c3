from __future__ import annotations

from collections.abc import Iterator, Mapping

from policies.dialects.volcano import JOB, VolcanoJob
from policies.dialects.volcano_job import WrittenTask
from policies.judging.rule import Proposal, rule
from policies.model.findings import Finding


@rule("task-dependency-cycle", source="Volcano's webhook jobs/validate: tasks", kinds=(JOB,))
def task_dependency_cycle(proposal: Proposal) -> Iterator[Finding]:
    """Tasks of a Volcano Job wait for each other, for a task that the Job does not have, or twice for the same task.

    Why it is refused: none of them would ever start. Volcano counts a name that is there twice as one more task to wait
    for.
    Example: `dependsOn: {name: [worker]}` in task `master`, and `dependsOn: {name: [master]}` in task `worker`.
    Fix: remove one of the dependencies, or correct the name.
    """
    for before, job in proposal.changed(VolcanoJob):
        if before is not None:
            continue  # the dependencies of a stored Job cannot change
        tasks = {task.name: task for task in job.spec.tasks}
        for task in job.spec.tasks:
            for name in dict.fromkeys(task.depends_on):
                if name not in tasks:
                    yield Finding(
                        job.ref,
                        f"{task.field}.dependsOn",
                        f"task {task.name} depends on {name}, which is not a task of the Job",
                        fix=f"name one of {', '.join(other for other in tasks if other != task.name) or 'its tasks'}",
                        subject=name,
                    )
                elif task.depends_on.count(name) > 1:
                    yield Finding(
                        job.ref,
                        f"{task.field}.dependsOn",
                        f"task {task.name} depends on {name} twice",
                        fix=f"name {name} once",
                        subject=name,
                    )
        cycle = _cycle(tasks)
        if cycle:
            yield Finding(
                job.ref,
                f"{tasks[cycle[0]].field}.dependsOn",
                f"tasks wait for each other: {' -> '.join((*cycle, cycle[0]))}",
                fix="remove one of these dependencies",
                subject="cycle",
            )


def _cycle(tasks: Mapping[str, WrittenTask]) -> list[str]:
    """The names of tasks of which each depends on the next, and the last on the first; empty if there is no cycle."""
    waiting = {name: {other for other in task.depends_on if other in tasks} for name, task in tasks.items()}
    needed_by: dict[str, list[str]] = {}
    for name, others in waiting.items():
        for other in others:
            needed_by.setdefault(other, []).append(name)
    ready = [name for name, others in waiting.items() if not others]
    while ready:
        done = ready.pop()
        del waiting[done]
        for name in needed_by.get(done, ()):
            waiting[name].discard(done)
            if not waiting[name]:
                ready.append(name)
    return _cycle_among(waiting)


def _cycle_among(waiting: Mapping[str, set[str]]) -> list[str]:
    """One cycle among tasks that all wait, found by following the first dependency of each task."""
    if not waiting:
        return []
    path: dict[str, None] = {}
    here = min(waiting)
    while here not in path:
        path[here] = None
        here = min(other for other in waiting[here] if other in waiting)
    names = list(path)
    return names[names.index(here) :]
