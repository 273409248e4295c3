"""Reads manifests into a world of Volcano: queues, PodGroups, Jobs, Pods, and the objects that these refer to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from policies.dialects import core, volcano
from policies.dialects.core import VOLCANO_QUEUE, VOLCANO_SCHEDULER
from policies.dialects.priority_class import PRIORITY_CLASS
from policies.dialects.reading import Manifest, group_kind, mapping, metadata, owner_references, text, texts
from policies.dialects.volcano_gates import group_of
from policies.dialects.volcano_resources import BASIC
from policies.model.objects import GroupKind, Ref, parted
from scheduling.queue_tree.amounts import Amounts
from scheduling.volcano.objects import Devices, Machine, PodGroup, Status, Task, VolcanoQueueSettings
from scheduling.volcano.play.job_pods import (
    DEFAULT,
    Made,
    TooManyPods,
    is_over,
    made_of_job,
    made_of_pod,
    own_group,
    with_priority,
)
from scheduling.volcano.queues import ROOT
from scheduling.volcano.reading import read_claim, read_machine, read_pod_group, read_priorities, read_queue, read_task
from scheduling.volcano.resources import PODS
from scheduling.volcano.world import SessionWorld

CLAIM = GroupKind("resource.k8s.io", "ResourceClaim")
_SURROUNDINGS = (PRIORITY_CLASS, CLAIM, core.NAMESPACE, volcano.QUEUE, core.NODE)
_WORK = (volcano.POD_GROUP, volcano.JOB, core.POD)
"""The kinds of work in the order of intake: an existing PodGroup takes precedence over the one made for its Job."""
_BUILT_IN = (VolcanoQueueSettings(ROOT, reclaimable=False), VolcanoQueueSettings(DEFAULT))
"""The queues that Volcano creates at its start."""
ANY_NODE = "any node"
ENOUGH = 10**24
"""The amount of each resource of the artificial node."""


class VolcanoIntake:
    """Puts objects into the world. The newest version counts, but earlier decisions about a pod or PodGroup stay.

    Without any Node there is an artificial one that has room for all pods.

    display_names: by PodGroup, the name that users know: of the Job or the Pod that it was made for, or its own.
    problems: the objects that were left out, and why.
    stateless: whether some queue has no state in its status.
    """

    def __init__(self, world: SessionWorld) -> None:
        self.world = world
        self.display_names: dict[str, str] = {}
        self.problems: list[str] = []
        self.stateless = False
        self._class_manifests: dict[str, Manifest] = {}  # PriorityClasses by name
        self._classes: dict[str, int] = {}  # their values, see `read_priorities`
        self._claims: dict[str, Devices] = {}  # the devices of ResourceClaims
        self._namespaces: dict[str, str] = {}  # the queue that each Namespace names
        self._jobs: dict[str, tuple[str, list[str]]] = {}  # PodGroup and pods by Job
        self._made_for: dict[str, str] = {}  # the PodGroup by Job, if the input has it
        self._made_for_pods: set[str] = set()  # the PodGroups that were made for Pods
        self._resources: dict[str, int] = dict.fromkeys((*BASIC, PODS), ENOUGH)  # the resources of the artificial node
        self.has_nodes = False
        for queue in _BUILT_IN:
            world.put_queue(queue)

    def put(self, manifests: Iterable[Manifest], now: int) -> None:
        """Add or replace objects, in any order. Objects without a creation time count as created `now`."""
        by_kind: dict[GroupKind, list[Manifest]] = {}
        for manifest in manifests:
            by_kind.setdefault(group_kind(manifest), []).append(manifest)
        for kind in (*_SURROUNDINGS, *_WORK):
            for manifest in by_kind.get(kind, ()):
                self._put_one(kind, manifest, now)
        self._put_artificial_node()

    def _put_one(self, kind: GroupKind, manifest: Manifest, now: int) -> None:
        match kind:
            case _ if kind == PRIORITY_CLASS:
                self._class_manifests[text(metadata(manifest).get("name")) or ""] = manifest
                self._classes = read_priorities(self._class_manifests.values())
            case _ if kind == CLAIM:
                name, devices = read_claim(manifest)
                self._claims[name] = devices
            case _ if kind == core.NAMESPACE:
                notes = texts(metadata(manifest).get("annotations"))
                self._namespaces[text(metadata(manifest).get("name")) or ""] = notes.get(VOLCANO_QUEUE, "")
            case _ if kind == volcano.QUEUE:
                self._put_queue(read_queue(manifest))
                self.stateless = self.stateless or not mapping(manifest.get("status")).get("state")
            case _ if kind == core.NODE:
                self._put_node(read_machine(manifest))
            case _ if kind == volcano.POD_GROUP:
                self._put_pod_group(manifest, now)
            case _ if kind == volcano.JOB:
                self._put_job(manifest, now)
            case _:
                self._put_pod(manifest, now)

    # --- queues and nodes

    def _put_queue(self, queue: VolcanoQueueSettings) -> None:
        for amounts in (queue.capability or {}, queue.deserved, queue.guarantee):
            self._note_resources(amounts)
        self.world.put_queue(queue)

    def _put_node(self, machine: Machine) -> None:
        if not self.has_nodes and ANY_NODE in self.world.rooms:
            self.world.drop_machine(ANY_NODE)
        self.has_nodes = True
        self.world.put_machine(machine)

    def _note_resources(self, amounts: Amounts) -> None:
        for resource in amounts:
            self._resources.setdefault(resource, ENOUGH)

    def _put_artificial_node(self) -> None:
        if not self.has_nodes:
            self.world.put_machine(Machine(ANY_NODE, dict(self._resources)))

    # --- work

    def _put_pod_group(self, manifest: Manifest, now: int) -> None:
        group = read_pod_group(manifest, self._classes)
        job = _job_of(manifest)
        self.display_names.setdefault(group.name, f"Job {job}" if job else f"PodGroup {group.name}")
        if job:
            self._made_for[job] = group.name
            group = replace(group, lacks_pods=group.phase == "Pending")
        self._put_group(group, now)

    def _put_group(self, group: PodGroup, now: int) -> None:
        """Store the PodGroup. Its decided phase stays. If its queue is `default`, the queue of its Namespace counts."""
        if group.queue == DEFAULT:
            group = replace(group, queue=self._namespaces.get(parted(group.name)[0]) or DEFAULT)
        known = self.world.jobs.get(group.name)
        self._note_resources(group.minimum or {})
        if known is not None:
            kept = known.group
            group = replace(group, phase=kept.phase, created=kept.created, lacks_pods=kept.lacks_pods)
        self.world.put_group(replace(group, created=group.created or now))

    def _put_job(self, manifest: Manifest, now: int) -> None:
        meta = metadata(manifest)
        key = f"{text(meta.get('namespace')) or 'default'}/{text(meta.get('name')) or ''}"
        if is_over(manifest):
            self.drop_job(key)
            return
        if (text(mapping(manifest.get("spec")).get("schedulerName")) or VOLCANO_SCHEDULER) != VOLCANO_SCHEDULER:
            return
        try:
            made = made_of_job(manifest, self._classes, self._claims)
        except TooManyPods as error:
            self.problems.append(str(error))
            return
        self.display_names[made.group.name] = f"Job {key}"
        if key in self._jobs or made.group.name not in self.world.jobs:
            self._put_group(made.group, now)
        self._put_pods_of(key, made, now)

    def _put_pods_of(self, job: str, made: Made, now: int) -> None:
        names = [task.name for task in made.tasks]
        for gone in {*self._jobs.get(job, ("", []))[1]} - {*names}:
            if gone in self.world.tasks:
                self.world.drop_task(gone)
        self._jobs[job] = made.group.name, names
        for task in made.tasks:
            if task.name not in self.world.tasks:
                self._put_task(task, now)

    def _put_pod(self, manifest: Manifest, now: int) -> None:
        if text(mapping(manifest.get("spec")).get("schedulerName")) != VOLCANO_SCHEDULER:
            return
        named, pod = group_of(manifest), with_priority(manifest, self._classes)
        task = read_task(pod, named or own_group(pod), self._claims)
        if task.status is Status.RELEASING:
            self._drop_pod(task.name)
            return
        if named is None and task.group not in self.world.jobs:
            self.display_names[task.group] = f"Pod {task.name}"
            self._made_for_pods.add(task.group)
            self._put_group(made_of_pod(pod, task), now)
        elif task.group in self.world.jobs:
            self.world.put_group(replace(self.world.jobs[task.group].group, lacks_pods=False))
        self._put_task(task, now)

    def _put_task(self, task: Task, now: int) -> None:
        """Store the pod. A pending manifest keeps the decided status and node."""
        known = self.world.tasks.get(task.name)
        self._note_resources(task.request)
        if task.node and not self.has_nodes:
            task = replace(task, node=ANY_NODE)
        if task.status is Status.ALLOCATED:
            task = replace(task, status=Status.RUNNING)
        if known is not None and task.status is Status.PENDING:
            task = replace(task, status=known.status, node=known.node, nominated=known.nominated)
        created = known.created if known is not None else task.created or now
        self.world.put_task(replace(task, created=created))

    # --- the end of work

    def drop(self, refs: Iterable[Ref]) -> None:
        """Remove objects, in any order. The built-in queues stay. Pods on a removed Node still count in their queue."""
        world, every = self.world, list(refs)
        for ref in every:
            if ref.group_kind in (volcano.JOB, volcano.POD_GROUP):
                self.drop_job(ref.key)
        for ref in every:
            if ref.group_kind == core.POD:
                self._drop_pod(ref.key)
            elif ref.group_kind == core.NODE and ref.name in world.rooms:
                world.drop_machine(ref.name)
            elif ref.group_kind == volcano.QUEUE and ref.name not in volcano.BUILT_IN and world.queues.get(ref.name):
                world.drop_queue(ref.name)
            elif ref.group_kind == core.NAMESPACE:
                self._namespaces.pop(ref.name, None)

    def _drop_pod(self, name: str) -> None:
        """Remove the pod, if it is known. A PodGroup that was made for it goes with the last of its pods."""
        task = self.world.tasks.get(name)
        if task is None:
            return
        self.world.drop_task(name)
        if task.group in self._made_for_pods and not self.world.jobs[task.group].tasks:
            self._made_for_pods.discard(task.group)
            self.world.drop_group(task.group)

    def job_named(self, name: str) -> str | None:
        """The PodGroup of the Job, or of the PodGroup, of this name."""
        if name in self._jobs:
            return self._jobs[name][0]
        if name in self._made_for:
            return self._made_for[name]
        return name if name in self.world.jobs else None

    def drop_job(self, name: str) -> bool:
        """Remove the PodGroup of this name, or of the Job of this name, with its pods. Returns whether it exists."""
        group = self.job_named(name)
        if group is None or group not in self.world.jobs:
            return False
        for task in [*self.world.jobs[group].tasks]:
            self.world.drop_task(task)
        self.world.drop_group(group)
        self._made_for_pods.discard(group)
        for index in (self._jobs, self._made_for):
            index.pop(name, None)
        return True


def _job_of(pod_group: Manifest) -> str:
    """The Volcano Job that owns the PodGroup, as `namespace/name`; empty if none does."""
    meta = metadata(pod_group)
    ours = (owner for owner in owner_references(pod_group) if group_kind(owner) == volcano.JOB)
    return next((f"{text(meta.get('namespace')) or 'default'}/{text(owner.get('name'))}" for owner in ours), "")


def is_volcanos(manifest: Manifest) -> bool:
    return group_kind(manifest) in (*_SURROUNDINGS, *_WORK)
