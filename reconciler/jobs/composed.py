"""The Workload of a job: how it is composed, and whether an existing one still represents the job.

Source: Kueue v0.19, pkg/controller/jobframework (construction, equivalence) and pkg/util/equality.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from policies.dialects.job_shape import at
from policies.dialects.kueue_jobs import POD_SET_NOTES
from policies.dialects.kueue_kinds import IN_USE, WORKLOAD_PRIORITY_CLASS
from policies.dialects.kueue_pods import JOB_NAME
from policies.dialects.kueue_workload import GATED_BY, SLICE_CHAIN
from policies.dialects.reading import Manifest, group_kind, listing, mapping, metadata, text, texts
from reconciler.jobs.described import JobKind
from reconciler.jobs.elastic import slice_name, uses_slices
from reconciler.jobs.kind import labels, notes, prebuilt
from reconciler.jobs.pod_changes import CannotStart, changes, started, without_labels
from reconciler.jobs.step import JobInputs
from scheduling.objects.priority import UnknownPriorityClass
from scheduling.objects.submission import workload_of_job
from scheduling.objects.template import template
from scheduling.objects.workload import Workload

_DESIRED = ("queueName", "podSets", "priority", "priorityClassRef", "maximumExecutionTimeSeconds")
_REQUESTS = ("containers", "initContainers", "resources", "overhead", "runtimeClassName", "resourceClaims")
"""The fields of a pod spec that decide what its pods request. They are always compared."""
_PLACEMENT = ("nodeSelector", "affinity", "tolerations")
_TOPOLOGY = "metadata.annotations"
"""Stands for the annotations that request a topology."""
_WAITING, _RESERVED, _STARTING, _RUNNING = (*_PLACEMENT, _TOPOLOGY), ("tolerations", _TOPOLOGY), (_TOPOLOGY,), ()
_COMPARED: tuple[tuple[str, ...], ...] = (_WAITING, _RESERVED, _STARTING, _RUNNING)
"""What is compared of a pod template besides its requests, by the state of the job."""
_REMEMBERED = 1024
"""How many jobs are cached: more than are between quota reservation and start at any time."""
_MOST_POD_SETS = 18
"""The most pod sets of a cached job. A Workload has no more."""

_Shapes = list[tuple[object, ...]]


class RequestedWork(NamedTuple):
    """What a job requests, to compare it with the job's Workload. Digests keep it small.

    `seconds`: the maximum execution time.
    `shapes`: the digests of the pod sets, by the fields of the pod spec that they include.
    """

    seconds: object
    shapes: Mapping[tuple[str, ...], _Shapes]

    @classmethod
    def of(cls, made: Manifest) -> RequestedWork:
        spec = mapping(made.get("spec"))
        pod_sets, seconds = listing(spec.get("podSets")), spec.get("maximumExecutionTimeSeconds")
        if not any(_places(mapping(each)) for each in pod_sets):
            return cls(
                seconds, dict.fromkeys(_COMPARED, _shapes(pod_sets, ()))
            )  # most jobs have no such fields, so all digests are equal
        return cls(seconds, {kept: _shapes(pod_sets, kept) for kept in _COMPARED})


def workload_key(kind: JobKind, job: Manifest, *, elastic: bool = False) -> str:
    """`namespace/name` of the job's Workload: a prebuilt one if the job names it, the next slice of an elastic job."""
    meta = metadata(job)
    name, uid = text(meta.get("name")) or "", text(meta.get("uid")) or ""
    usual = prebuilt(kind, job) or kind.naming.workload(group_kind(job), name, uid)
    namespace = text(meta.get("namespace")) or "default"
    return f"{namespace}/{slice_name(usual, job) if elastic and uses_slices(kind, job) else usual}"


def composed(kind: JobKind, job: Manifest, inputs: JobInputs) -> dict[str, Any] | None:
    """The Workload to create; None if the job is not to be queued. Raises UnknownPriorityClass."""
    queueless = inputs.without_queue
    made = workload_of_job(
        job,
        inputs.classes,
        kind.shape,
        queueless=queueless,
        naming=kind.naming,
        gates=inputs.topologies,
        elastic=inputs.elastic,
    )
    if made is None:
        return None
    meta = {key: value for key, value in made["metadata"].items() if key != "creationTimestamp"}
    copied = {key: value for key, value in labels(job).items() if key in inputs.copied_labels}
    noted = {key: value for key, value in notes(job).items() if key in inputs.copied_annotations}
    own, made_sets = set(kind.own_labels) - {JOB_NAME}, made["spec"]["podSets"]  # Kueue keeps the name of the Job
    pod_sets = [{**each, "template": without_labels(each["template"], own)} for each in made_sets]
    first = {}
    if inputs.elastic and uses_slices(kind, job):
        meta["name"] = slice_name(meta["name"], job)
        first = {SLICE_CHAIN: meta["name"]}
    meta = {**meta, "labels": {**copied, **meta["labels"]}, "annotations": {**noted, **meta["annotations"], **first}}
    return {
        **made,
        "metadata": {**meta, "finalizers": [IN_USE]},
        "spec": {**made["spec"], "podSets": pod_sets},
    }


def requested_work(kind: JobKind, job: Manifest, inputs: JobInputs) -> RequestedWork | None:
    """What the job requests, from `composed`; None if the job is not queued or its priority class is unknown."""
    try:
        made = composed(kind, job, inputs)
    except UnknownPriorityClass:
        return None
    return RequestedWork.of(made) if made is not None else None


class RequestCache:
    """What the latest jobs request. A job is looked at several times until it starts."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[JobInputs, RequestedWork | None]] = {}

    def work(self, kind: JobKind, job: Manifest, inputs: JobInputs) -> RequestedWork | None:
        meta = metadata(job)
        version = text(meta.get("uid")) or "", text(meta.get("resourceVersion")) or ""
        if not all(version):
            return requested_work(kind, job, inputs)
        found = self._known.get(version)
        if found is not None and found[0] is inputs:
            return found[1]
        asks = requested_work(kind, job, inputs)
        if asks is None or len(asks.shapes[()]) <= _MOST_POD_SETS:
            self._known[version] = inputs, asks
            if len(self._known) > _REMEMBERED:
                del self._known[next(iter(self._known))]
        return asks


def spec_update(made: Manifest) -> dict[str, Any]:
    """The merge patch that makes the spec of a Workload equal to that of `made`, except for `active`."""
    return {"spec": {key: mapping(made.get("spec")).get(key) for key in _DESIRED}}


def gates_update(named: str | None, read: Workload) -> dict[str, Any] | None:
    """The merge patch that sets the admission gates that the job names; None if the Workload has them."""
    return None if (named or "") == read.gated_by else {"metadata": {"annotations": {GATED_BY: named}}}


def gates_message(named: str | None) -> str:
    """The Event about that patch, in Kueue's words."""
    return f'Updated workload AdmissionGatedBy to "{named or ""}"'


def fits(
    kind: JobKind, job: Manifest, asks: RequestedWork, workload: Manifest, read: Workload, inputs: JobInputs
) -> bool:
    """Whether the Workload still represents the job. `asks`: what the job requests now.

    A job with reserved quota may look as it was submitted, if it has not started, or as it runs. Its node selectors and
    affinity are not compared then, because a start adds to them; once it is admitted, neither are its tolerations. What
    it requests of a topology is compared until it runs.
    """
    have = mapping(workload.get("spec"))
    if asks.seconds != have.get("maximumExecutionTimeSeconds"):
        return False
    then = listing(have.get("podSets"))
    if not read.reserved:
        return asks.shapes[_WAITING] == _shapes(then, _WAITING)
    kept = _RESERVED if not read.admitted else _STARTING if kind.suspended(job) else _RUNNING
    shapes = asks.shapes[kept]
    running = _pod_sets_as_started(then, read, inputs)
    if running is None:
        return shapes == _shapes(then, kept)
    return shapes == _shapes(running, kept) or (kind.suspended(job) and shapes == _shapes(then, kept))


def gets_class(read: Workload, named: str) -> bool:
    """Whether the Workload gets the WorkloadPriorityClass that its job names now.

    While quota is reserved, only a class can replace a class.
    """
    known = read.priority_class
    if not named or (known is not None and known.name == named):
        return False
    return not read.reserved if known is None else known.kind == WORKLOAD_PRIORITY_CLASS.kind


def class_update(made: Manifest) -> dict[str, Any]:
    """The merge patch that gives a Workload the priority class and the priority of `made`."""
    return {"spec": {key: mapping(made.get("spec")).get(key) for key in ("priorityClassRef", "priority")}}


def class_message(read: Workload) -> str:
    """The Event about that patch, in Kueue's words."""
    return f"Updated workload priority class: {read.key}"


def original(workload: Manifest | None) -> Mapping[str, Any]:
    """The only pod set of a batch Job's Workload."""
    pod_sets = listing(mapping(workload.get("spec")).get("podSets")) if workload is not None else []
    return mapping(pod_sets[0]) if len(pod_sets) == 1 else {}


def _pod_sets_as_started(pod_sets: list[Any], read: Workload, inputs: JobInputs) -> list[Any] | None:
    """The pod sets as the started job has them; None if they are unknown."""
    try:
        assigned = {each.name: each for each in changes(read, inputs.flavors) or ()}
        return [_as_started(mapping(pod_set), assigned) for pod_set in pod_sets]
    except (CannotStart, KeyError):
        return None


def _as_started(pod_set: Mapping[str, Any], assigned: Mapping[str, Any]) -> dict[str, Any]:
    found = assigned[pod_set.get("name", "main")]
    fewer = found.count is not None and pod_set.get("minCount") is not None
    made = started(mapping(pod_set.get("template")), found)
    return {**pod_set, "template": made, **({"count": found.count} if fewer else {})}


def _shapes(pod_sets: list[Any], kept: Sequence[str]) -> _Shapes:
    """The compared fields of pod sets: sizes, the requests of a pod, and these fields of the pod template."""
    return [_shape(mapping(pod_set), (*kept, *_REQUESTS)) for pod_set in pod_sets]


def _shape(pod_set: Mapping[str, Any], fields: Sequence[str]) -> tuple[object, ...]:
    spec = mapping(mapping(pod_set.get("template")).get("spec"))
    compared = {key: value for key, value in spec.items() if key in fields}
    counts = pod_set.get("count", 1), pod_set.get("minCount")
    asked = _topology_digest(pod_set) if _TOPOLOGY in fields else ""
    return pod_set.get("name", "main"), *counts, template(compared).digest, asked


def _places(pod_set: Mapping[str, Any]) -> bool:
    """Whether the pod set has one of the fields that are not compared in every state."""
    return any(at(pod_set, f"template.spec.{field}") for field in _PLACEMENT) or bool(_topology_digest(pod_set))


def _topology_digest(pod_set: Mapping[str, Any]) -> str:
    """A digest of what the pods request of a topology; empty for nothing."""
    notes = texts(metadata(mapping(pod_set.get("template"))).get("annotations"))
    asked = {key: value for key, value in notes.items() if key.startswith(POD_SET_NOTES)}
    return sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest() if asked else ""
