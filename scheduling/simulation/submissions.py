"""Makes Workloads from submitted objects: Workloads, jobs of any kind, Pods and groups of Pods."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from policies.dialects.core import POD
from policies.dialects.frameworks import SHAPES
from policies.dialects.job_shape import at
from policies.dialects.kueue_jobs import KINDS, managed_owner
from policies.dialects.kueue_kinds import GROUP, WORKLOAD
from policies.dialects.naming import NAMING
from policies.dialects.reading import Manifest, group_kind, listing, mapping, metadata, owner_references, text
from policies.model.errors import PolicyError
from policies.model.objects import Ref
from scheduling.objects.copying import replace
from scheduling.objects.pod_sets import ALL_REQUESTS, RequestGates
from scheduling.objects.priority import PriorityClasses, read_priority_classes
from scheduling.objects.reading import read_workload
from scheduling.objects.reclaimable import reclaimable_of_job
from scheduling.objects.submission import queue_of, workload_of_group, workload_of_job, workload_of_pod
from scheduling.objects.workload import Workload
from scheduling.status.progress import finish
from scheduling.visibility.as_json import job_of

_BY_PODS = "Kueue queues its Pods, which its controller creates; add the Pods to the input"
_NOT_RUN = (
    "the simulation cannot make its Workload, and the reconciler runs such jobs only if reconciler.jobs in Quotree's "
    "Configuration describes the kind; add its Workload to the input"
)
_NO_TEMPLATE = "it has no pod template where its kind has one"
_NO_QUEUE = "it names no queue, so Kueue ignores it; add the label kueue.x-k8s.io/queue-name"


class Name(NamedTuple):
    """The displayed name of a job. `kind`: Workload if it was submitted as one, PodGroup for a group of Pods."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @classmethod
    def of(cls, workload: Workload) -> Name:
        job = job_of(workload)
        return cls(job["kind"], job["namespace"], job["name"])


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An object that is in no queue, and why. `queue`: the LocalQueue that it names."""

    name: Name
    reason: str
    queue: str = ""


class Submissions:
    """The submitted objects. Each `look` makes their Workloads again, since a priority class may have been added."""

    def __init__(self, boosted: bool = False, requests: RequestGates = ALL_REQUESTS) -> None:
        self._boosted = boosted
        self._requests = requests
        self._classes: dict[tuple[str, str], Manifest] = {}  # priority classes by kind and name
        self._submitted: dict[Name, Manifest] = {}  # manifests by name
        self._pods: dict[Name, dict[str, Manifest]] = {}  # by group: its Pods by name
        self._new: dict[Name, None] = {}  # names that the next `look` returns

    def put_class(self, manifest: Manifest) -> None:
        """Add a WorkloadPriorityClass or a PriorityClass. As in Kueue, jobs that name the class change."""
        self._classes[str(manifest.get("kind")), text(metadata(manifest).get("name")) or ""] = manifest
        self._new.update(dict.fromkeys(self._submitted))
        self._new.update(dict.fromkeys(self._pods))

    def put(self, manifest: Manifest) -> None:
        kind, meta = group_kind(manifest), metadata(manifest)
        namespace = text(meta.get("namespace")) or "default"
        name = Name(kind.kind, namespace, text(meta.get("name")) or "")
        if kind == POD and (group := NAMING.group(manifest)):
            of_group = Name("PodGroup", namespace, group)
            self._pods.setdefault(of_group, {})[name.name] = manifest
            name = of_group
        else:
            self._submitted[name] = manifest
        self._new[name] = None

    def drop(self, ref: Ref) -> list[Name]:
        """Forget the object. Returns what is gone: it, and the groups of which it was the last Pod."""
        gone = [Name(ref.kind, ref.namespace, ref.name)]
        if ref.group_kind == POD:
            groups = ((name, pods) for name, pods in self._pods.items() if name.namespace == ref.namespace)
            gone += [name for name, pods in groups if pods.pop(ref.name, None) is not None and not pods]
        for name in gone:
            for index in (self._pods, self._submitted, self._new):
                index.pop(name, None)
        return gone

    def look(self) -> Iterator[tuple[Name, Workload] | LeftOut]:
        """Yield the new and changed workloads, and the jobs that were left out, in the order of submission."""
        classes = read_priority_classes(self._classes.values())
        new, self._new = self._new, {}
        owned = self._owned()
        for name in new:
            try:
                made = self._made(name, classes, owned)
            except PolicyError as error:
                made = LeftOut(name, str(error), self._queue(name))
                self._new[name] = None
            if made is not None:
                yield (name, made) if isinstance(made, Workload) else made

    def _queue(self, name: Name) -> str:
        manifests = self._pods[name].values() if name in self._pods else [self._submitted[name]]
        return next(filter(None, map(queue_of, manifests)), "")

    def _owned(self) -> set[Name]:
        """The jobs whose Workload was submitted as well."""
        return {
            Name(str(owner.get("kind")), name.namespace, str(owner.get("name")))
            for name, manifest in self._submitted.items()
            if name.kind == WORKLOAD.kind
            for owner in owner_references(manifest)
        }

    def _made(self, name: Name, classes: PriorityClasses, owned: set[Name]) -> Workload | LeftOut | None:
        """The Workload of the object; None if the Workload of another object covers it."""
        if name in owned:
            return None
        if name in self._pods:
            return self._read(workload_of_group(self._pods[name].values(), classes, gates=self._requests))
        manifest = self._submitted[name]
        kind = group_kind(manifest)
        if kind == WORKLOAD:
            return self._read(_with_priority(manifest, classes))
        if managed_owner(metadata(manifest)) or NAMING.prebuilt(metadata(manifest)):
            return None
        made = (workload_of_pod if kind == POD else workload_of_job)(manifest, classes, gates=self._requests)
        if made is None:
            framework = KINDS.get(kind)
            if framework is not None and framework.leaves_out(manifest):
                return LeftOut(name, f"it has {framework.unless}, so Kueue ignores it")
            if not queue_of(manifest):
                return LeftOut(name, _NO_QUEUE)
            if framework is None or framework.by_pods:
                return LeftOut(name, _BY_PODS)
            return LeftOut(name, _NO_TEMPLATE if kind in SHAPES else _NOT_RUN)
        workload = self._read(made)
        if _is_over(manifest):
            return finish(workload, "JobFinished", "Job finished successfully", workload.created)
        return replace(workload, reclaimable=reclaimable_of_job(manifest)) if kind.group == "batch" else workload

    def _read(self, manifest: Manifest) -> Workload:
        return replace(
            read_workload(manifest, boosted=self._boosted),
            namespace=text(metadata(manifest).get("namespace")) or "default",
        )


def is_submission(manifest: Manifest) -> bool:
    kind = group_kind(manifest)
    return kind in (WORKLOAD, POD) or kind in KINDS


def _with_priority(manifest: Manifest, classes: PriorityClasses) -> Manifest:
    """The manifest with the priority of its class, if it only names the class. Raises UnknownPriorityClass."""
    spec = mapping(manifest.get("spec"))
    reference = mapping(spec.get("priorityClassRef"))
    name = text(reference.get("name")) or text(spec.get("priorityClassName"))
    if spec.get("priority") is not None or not name:
        return manifest
    of_kueue = GROUP in (text(reference.get("group")) or text(spec.get("priorityClassSource")) or GROUP)
    found = classes.by_workload_class(name) if of_kueue else classes.by_pod_class(name)
    return {**manifest, "spec": {**spec, "priority": found.value}}


def _is_over(manifest: Manifest) -> bool:
    status = mapping(manifest.get("status"))
    ended = (
        entry.get("type") in ("Complete", "Completed", "Failed", "Succeeded") and entry.get("status") == "True"
        for entry in map(mapping, listing(status.get("conditions")))
    )
    return any(ended) or at(manifest, "status.phase") in ("Succeeded", "Failed")
