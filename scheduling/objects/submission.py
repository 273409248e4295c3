"""The Workload of a job, a Pod or a group of Pods.

Source: Kueue v0.19, pkg/controller/jobframework, pkg/controller/jobs/job and pkg/controller/jobs/pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from policies.dialects.core import POD
from policies.dialects.frameworks import SHAPES
from policies.dialects.go_values import read_count
from policies.dialects.job_shape import JobShape, at
from policies.dialects.kueue_jobs import (
    BATCH_JOB,
    MAX_SECONDS,
    MIN_PARALLELISM,
    POD_GROUP_SIZE,
    QUEUE_NAME,
    min_parallelism,
)
from policies.dialects.kueue_jobs import PRIORITY_CLASS as PRIORITY_CLASS_LABEL
from policies.dialects.kueue_kinds import GROUP, PREFIX
from policies.dialects.kueue_pods import FAST_ADMISSION, POD_INDEX
from policies.dialects.kueue_workload import ELASTIC, GATED_BY
from policies.dialects.naming import NAMING, Naming
from policies.dialects.reading import Manifest, group_kind, listing, mapping, metadata, text, texts
from policies.model.errors import PolicyError
from policies.model.objects import GroupKind
from scheduling.objects.pod_sets import ALL_REQUESTS, RequestGates, pod_set, pod_sets
from scheduling.objects.priority import PriorityClasses, priority_of
from scheduling.objects.roles import claim_of, role_names
from scheduling.objects.workload import IS_GROUP_WORKLOAD, JOB_UID

_PROVISIONING_PREFIX = "provreq.kueue.x-k8s.io/"


class IncompleteGroup(PolicyError):
    """A group of Pods lacks some of its Pods, or has no valid annotation with its size."""


class TooFewPods(IncompleteGroup):
    """A group has fewer Pods than its size.

    event: the message of the Event, the same as that of Kueue's manager.
    """

    def __init__(self, group: str, present: int, size: int) -> None:
        super().__init__(f"Pod group {group} has {present} of {size} Pods; create the others")
        self.event = f"'{group}' group has fewer runnable pods than expected"


def workload_of_job(
    manifest: Manifest,
    classes: PriorityClasses,
    shape: JobShape | None = None,
    *,
    queueless: bool = False,
    naming: Naming = NAMING,
    gates: RequestGates = ALL_REQUESTS,
    elastic: bool = True,
) -> dict[str, Any] | None:
    """The manifest of the job's Workload; None for a job without a queue or without pods, or that is never queued.

    A Deployment, a StatefulSet and a LeaderWorkerSet have no Workload: their Pods have Workloads.

    shape: describes a kind of job that is not built in.
    queueless: whether a job without a queue gets a Workload, too.
    elastic: whether jobs may change their size by slices.
    Raises UnknownPriorityClass.
    """
    kind = group_kind(manifest)
    shape = SHAPES.get(kind, shape)
    sets = pod_sets(manifest, shape.pod_sets, gates) if shape is not None else []
    if shape is None or not sets or not (queueless or queue_of(manifest)) or shape.leaves_out(manifest):
        return None
    min_count = min_parallelism(texts(metadata(manifest).get("annotations"))) if kind == BATCH_JOB else None
    if min_count is not None and min_count <= sets[0]["count"]:  # a user may have lowered parallelism below it
        sets[0]["minCount"] = min_count
    job_class = (text(at(manifest, shape.priority_class)) or "") if shape.priority_class else ""
    made = _workload(_workload_name(kind, manifest, naming), [manifest], sets, classes, job_class)
    if elastic and is_elastic(shape, manifest):
        made["metadata"]["annotations"][ELASTIC] = "true"
    return made


def is_elastic(shape: JobShape, manifest: Manifest) -> bool:
    """Whether the job wants to change its size by slices, and its kind can. It is not admitted with fewer pods then."""
    notes = texts(metadata(manifest).get("annotations"))
    partly = shape.kind == BATCH_JOB and MIN_PARALLELISM in notes
    return shape.elastic and notes.get(ELASTIC) == "true" and not partly


def workload_of_pod(
    manifest: Manifest, classes: PriorityClasses, naming: Naming = NAMING, gates: RequestGates = ALL_REQUESTS
) -> dict[str, Any] | None:
    """The Workload of a single Pod; None for a Pod of a group or without a queue. Raises UnknownPriorityClass."""
    if not queue_of(manifest) or naming.group(manifest):
        return None
    sets = [pod_set("main", 1, _template_of(manifest), POD_INDEX, gates=gates)]
    return _workload(_workload_name(POD, manifest, naming), [manifest], sets, classes)


def workload_of_group(
    pods: Iterable[Manifest], classes: PriorityClasses, naming: Naming = NAMING, gates: RequestGates = ALL_REQUESTS
) -> dict[str, Any]:
    """The Workload of a group of Pods, with a pod set for each role. If there are more Pods than the size of the group,
    only the oldest ones count.

    Raises IncompleteGroup, UnknownPriorityClass.
    """
    members = sorted(pods, key=_age)
    if not members:
        raise IncompleteGroup("a group without Pods has no Workload; create its Pods")
    name = naming.group(members[0])
    size = read_count(texts(metadata(members[0]).get("annotations")).get(POD_GROUP_SIZE, ""))
    if size is None:
        cure = f"set the annotation {POD_GROUP_SIZE} of each Pod to the number of Pods"
        raise IncompleteGroup(f"Pod group {name} has no valid size; {cure}")
    members = members[:size]
    sets = _roles(members, gates)
    if len(members) < size:
        if len(sets) > 1 or texts(metadata(members[0]).get("annotations")).get(FAST_ADMISSION) != "true":
            raise TooFewPods(name, len(members), size)
        sets[0]["count"] = size
    workload = _workload(name, members, sets, classes, of_group=True)
    workload["metadata"]["annotations"][IS_GROUP_WORKLOAD] = "true"
    return workload


def _roles(members: Sequence[Manifest], gates: RequestGates) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for member, role in zip(members, role_names([claim_of(member) for member in members]), strict=True):
        if role not in found:
            found[role] = pod_set(role, 0, _template_of(member), POD_INDEX, gates=gates)
        found[role]["count"] += 1
    return [found[role] for role in sorted(found)]


def queue_of(manifest: Manifest) -> str:
    """The LocalQueue that the label of the object names; empty if none. Kueue 0.15 has dropped the annotation."""
    return texts(metadata(manifest).get("labels")).get(QUEUE_NAME, "")


def maximum_seconds(labels: Mapping[str, str]) -> int | None:
    """The maximum execution time from the labels; None if it is missing or invalid."""
    return read_count(labels.get(MAX_SECONDS, ""))


def _workload_name(kind: GroupKind, manifest: Manifest, naming: Naming) -> str:
    meta = metadata(manifest)
    return naming.workload(kind, text(meta.get("name")) or "", text(meta.get("uid")) or "")


def _workload(
    name: str,
    owners: Sequence[Manifest],
    sets: list[dict[str, Any]],
    classes: PriorityClasses,
    job_class: str = "",
    *,
    of_group: bool = False,
) -> dict[str, Any]:
    """The manifest of a Workload.

    owners: the job, the Pod or the Pods of a group. The first one gives labels, queue and priority.
    of_group: the owners are Pods of a group. They may be replaced, so none of them controls the Workload, and it has no
        label job-uid.
    """
    first = owners[0]
    meta, labels = metadata(first), texts(metadata(first).get("labels"))
    priority = priority_of(
        classes,
        workload_class=labels.get(PRIORITY_CLASS_LABEL, ""),
        job_class=job_class,
        pod_classes=[text(at(entry, "template.spec.priorityClassName")) or "" for entry in sets],
    )
    queue = {"queueName": queue_of(first)} if queue_of(first) else {}
    spec: dict[str, Any] = {**queue, "podSets": sets, "priority": priority.value}
    if priority.reference is not None:
        spec["priorityClassRef"] = priority.reference._asdict()
    if seconds := maximum_seconds(labels):
        spec["maximumExecutionTimeSeconds"] = seconds
    return {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": name,
            "namespace": text(meta.get("namespace")) or "default",
            **({"creationTimestamp": meta["creationTimestamp"]} if meta.get("creationTimestamp") else {}),
            "labels": {JOB_UID: meta["uid"]} if text(meta.get("uid")) and not of_group else {},
            "annotations": {
                key: value
                for key, value in texts(meta.get("annotations")).items()
                if key == GATED_BY or key.startswith(_PROVISIONING_PREFIX)
            },
            "ownerReferences": [_owner(owner, controls=not of_group) for owner in owners],
        },
        "spec": spec,
    }


def _owner(manifest: Manifest, *, controls: bool) -> dict[str, Any]:
    meta = metadata(manifest)
    reference = {
        "apiVersion": text(manifest.get("apiVersion")) or "",
        "kind": text(manifest.get("kind")) or "",
        "name": text(meta.get("name")) or "",
        "uid": text(meta.get("uid")) or "",
    }
    return {**reference, "controller": True, "blockOwnerDeletion": True} if controls else reference


def _template_of(pod: Manifest) -> dict[str, Any]:
    """The Pod as a template, without Kueue's scheduling gates."""
    meta, spec = metadata(pod), mapping(pod.get("spec"))
    named = ((gate, text(mapping(gate).get("name")) or "") for gate in listing(spec.get("schedulingGates")))
    gates = [gate for gate, name in named if not name.startswith(PREFIX)]
    kept = {key: value for key, value in spec.items() if key != "schedulingGates"}
    return {
        "metadata": {"labels": texts(meta.get("labels")), "annotations": texts(meta.get("annotations"))},
        "spec": {**kept, **({"schedulingGates": gates} if gates else {})},
    }


def _age(pod: Manifest) -> tuple[str, str]:
    meta = metadata(pod)
    return text(meta.get("creationTimestamp")) or "", text(meta.get("name")) or ""
