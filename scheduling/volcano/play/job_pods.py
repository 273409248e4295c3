"""Makes what Volcano's controllers create: a PodGroup and Pods for a Job, and a PodGroup for a Pod without one.

Source: Volcano v1.16, pkg/controllers/job (calcPGMinResources, createOrUpdatePodGroup) and pkg/controllers/podgroup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from policies.dialects.core import VOLCANO_QUEUE
from policies.dialects.kueue_owners import controller_of
from policies.dialects.reading import Manifest, integer, listing, mapping, metadata, text, texts
from policies.dialects.volcano_gates import GROUP_NAME, TASK_NAME
from policies.dialects.volcano_job import WrittenTask as TaskSpec
from policies.dialects.volcano_job import read_spec
from policies.model.errors import PolicyError
from policies.model.objects import parted
from scheduling.objects import times
from scheduling.objects.amounts import add_to
from scheduling.queue_tree.amounts import Amounts
from scheduling.volcano.objects import Devices, PodGroup, Task
from scheduling.volcano.reading import PREEMPTABLE, priority_of, read_task

DEFAULT = "default"
"""The queue of work that names no queue."""
OVER = frozenset(["Completed", "Failed", "Terminated", "Aborted"])
"""The phases in which a Job has no Pods and gets none."""
MOST_PODS = 20_000
"""The most pods of one Job: each pod needs a decision of its own."""


class TooManyPods(PolicyError):
    """A Job has more pods than are simulated."""


@dataclass(frozen=True, slots=True)
class Made:
    """A PodGroup and its pods."""

    group: PodGroup
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class _Role:
    """A task of a Job.

    needed: how many of its pods must start.
    request: what each pod requests.
    priority: of the PriorityClass that its own template names; else 0.
    """

    replicas: int
    needed: int
    request: Amounts
    priority: int


def made_of_job(manifest: Manifest, classes: Mapping[str, int], claims: Mapping[str, Devices]) -> Made:
    """The PodGroup and the pods of a Job. `classes`: see `read_priorities`. Raises TooManyPods."""
    meta, spec = metadata(manifest), mapping(manifest.get("spec"))
    namespace, uid = text(meta.get("namespace")) or "default", text(meta.get("uid"))
    job = text(meta.get("name")) or ""
    name = f"{namespace}/{job}-{uid}" if uid else f"{namespace}/{job}"
    read = read_spec(spec)
    if (pods := sum(max(0, task.replicas) for task in read.tasks)) > MOST_PODS:
        raise TooManyPods(f"Job {namespace}/{job} has {pods} pods, and at most {MOST_PODS} are simulated")
    tasks: list[Task] = []
    roles, members_of = [], {}
    for written, task in zip(map(mapping, listing(spec.get("tasks"))), read.tasks, strict=True):
        first = _pod(manifest, written, task, name, classes, claims)
        tasks += [replace(first, name=f"{namespace}/{job}-{task.name}-{i}") for i in range(task.replicas)]
        members_of[task.name] = task.needed
        own = text(mapping(mapping(written.get("template")).get("spec")).get("priorityClassName"))
        roles.append(_Role(task.replicas, task.needed, first.request, classes.get(own, 0) if own else 0))
    members = sum(members_of.values()) if read.min_available is None else read.min_available
    group = PodGroup(
        name=name,
        queue=text(spec.get("queue")) or DEFAULT,
        members=members,
        members_of=members_of,
        minimum=_minimum(roles, members),
        priority=priority_of(text(spec.get("priorityClassName")) or "", classes),
        created=times.parse(meta.get("creationTimestamp")),
        lacks_pods=True,
    )
    return Made(group, tuple(tasks))


def _pod(
    job: Manifest,
    written: Manifest,
    task: TaskSpec,
    group: str,
    classes: Mapping[str, int],
    claims: Mapping[str, Devices],
) -> Task:
    """A pod of the task. All pods of a task are equal except for their names.

    The Job decides whether its pods are preemptable, and the PriorityClass of a template without one.
    """
    template, meta = mapping(written.get("template")), metadata(job)
    theirs, spec = metadata(template), {**mapping(template.get("spec"))}
    spec["priorityClassName"] = spec.get("priorityClassName") or mapping(job.get("spec")).get("priorityClassName")
    labels, notes = (
        {**texts(theirs.get(key)), **{k: v for k, v in texts(meta.get(key)).items() if k == PREEMPTABLE}}
        for key in ("labels", "annotations")
    )
    notes |= {TASK_NAME: task.name, GROUP_NAME: parted(group)[1]}
    pod = {
        "metadata": {**theirs, "namespace": meta.get("namespace"), "labels": labels, "annotations": notes},
        "spec": spec,
    }
    return read_task(with_priority(pod, classes), group, claims)


def with_priority(pod: Manifest, classes: Mapping[str, int]) -> Manifest:
    """The Pod with the value of its PriorityClass or of the default in its spec, as the API server stores it."""
    spec = mapping(pod.get("spec"))
    if integer(spec.get("priority")) is not None:
        return pod
    return {**pod, "spec": {**spec, "priority": priority_of(text(spec.get("priorityClassName")) or "", classes)}}


def _minimum(roles: Sequence[_Role], members: int) -> Amounts:
    """minResources: the requests of the first `members` pods, tasks with a high priority first.

    If `members` suffices for the needed pods of all tasks, these come first.
    """
    ordered = sorted(roles, key=lambda role: -role.priority)
    if members < sum(role.needed for role in roles):
        batches = [(role, role.replicas) for role in ordered]
    else:
        batches = [(role, role.needed) for role in ordered]
        batches += [(role, role.replicas - role.needed) for role in ordered]
    minimum: dict[str, int] = {}
    for role, pods in batches:
        taken = max(0, min(pods, members))
        add_to(minimum, role.request, taken)
        members -= taken
    return minimum


# --- Pods by themselves


def made_of_pod(pod: Manifest, task: Task) -> PodGroup:
    """The PodGroup that the controller makes for the Pod. Pods of one owner share it."""
    notes = texts(metadata(pod).get("annotations"))
    return PodGroup(
        name=task.group,
        queue=notes.get(VOLCANO_QUEUE) or DEFAULT,
        members=1,
        minimum=task.request,
        priority=integer(mapping(pod.get("spec")).get("priority")) or 0,
        created=task.created,
    )


def own_group(pod: Manifest) -> str:
    """The name of the PodGroup that the controller makes for the Pod."""
    meta = metadata(pod)
    owner = controller_of(meta)
    uid = (owner.uid if owner is not None else "") or text(meta.get("uid")) or text(meta.get("name")) or ""
    return f"{text(meta.get('namespace')) or 'default'}/podgroup-{uid}"


def is_over(job: Manifest) -> bool:
    return text(mapping(mapping(job.get("status")).get("state")).get("phase")) in OVER
