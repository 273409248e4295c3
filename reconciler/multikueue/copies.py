"""The copies of a Workload and its job on a worker, and the status that is copied back.

Source: Kueue v0.19, pkg/controller/admissionchecks/multikueue and the MultiKueue adapters in pkg/controller/jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from cluster.actions import Action, Create, Patch
from policies.dialects.job_shape import at, total
from policies.dialects.kueue_checks import MULTIKUEUE
from policies.dialects.kueue_jobs import PREBUILT
from policies.dialects.kueue_kinds import GROUP, PREFIX
from policies.dialects.naming import LONGEST_LABEL
from policies.dialects.reading import Manifest, integer, listing, mapping, metadata, text, texts
from policies.model.objects import GroupKind
from reconciler.jobs.described import JobKind
from reconciler.jobs.pod_changes import without_labels
from reconciler.objects.watched import VERSION
from scheduling.objects import times
from scheduling.objects.reading import read_workload
from scheduling.objects.workload import JOB_UID, ORIGIN, Owner
from scheduling.placement.gates import GATE
from scheduling.placement.group import ORIGIN_UID, OwnerJob, RemoteJob
from scheduling.placement.place import differs
from scheduling.placement.settings import PlacementSettings

_NOT_COPIED = (
    f"{PREFIX}stopping",
    "kubectl.kubernetes.io/last-applied-configuration",
    "batch.kubernetes.io/job-tracking",
)
_ONLY_HERE = ("selector", "manualSelector", "ttlSecondsAfterFinished")
"""Fields of a batch Job's spec that are not copied: its cluster sets them, or they delete the Job too early."""
_FORWARDED: Mapping[GroupKind, tuple[str, ...]] = {GroupKind("ray.io", "RayService"): ("serveConfigV2",)}
"""Fields of a spec that do not matter for admission, and are updated while the job runs on a worker."""
_GATES = "preemptionGates"
_RANK = ("priority", "priorityClassRef")
"""The fields of a Workload's spec that a copy follows while it runs."""
# -- the Workload ------------------------------------------------------------------------------------------------------


def clone_of(workload: Manifest, origin: str, *, gated: bool = False) -> dict[str, Any]:
    """The Workload to create on a worker: with the same name, labels, annotations and spec, but without owners."""
    spec = {key: value for key, value in mapping(workload.get("spec")).items() if key != _GATES}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Workload",
        "metadata": copied(workload, {ORIGIN: origin}),
        "spec": deepcopy({**spec, **({_GATES: [{"name": GATE}]} if gated else {})}),
    }


def clone_change(workload: Manifest, clone: Manifest) -> dict[str, Any]:
    """The merge patch after which the copy requests the same as the Workload. Preemption gates are not compared."""
    here, there = mapping(workload.get("spec")), mapping(clone.get("spec"))
    keys = dict.fromkeys((*here, *there))
    return {key: here.get(key) for key in keys if key not in (_GATES, "active") and here.get(key) != there.get(key)}


def stored_otherwise(action: Action, stored: Manifest) -> bool:
    """Whether the worker has stored another copy of a Workload than it was sent: its CRD lacks a field, or a webhook
    there has changed it. The same write would have the same result.
    """
    if isinstance(action, Create):
        return differs(read_workload(action.body), read_workload(stored))
    sent = mapping(action.body.get("spec")) if isinstance(action, Patch) else {}
    kept = mapping(stored.get("spec"))
    return any(key in sent and sent[key] != kept.get(key) for key in _RANK)


def copied(manifest: Manifest, labels: Mapping[str, str]) -> dict[str, Any]:
    """The name, labels and annotations of a copy. `labels`: added, to name its origin."""
    meta = metadata(manifest)
    uid = text(meta.get("uid")) or ""
    own = {key: value for key, value in texts(meta.get("labels")).items() if key != JOB_UID}
    notes = {key: value for key, value in texts(meta.get("annotations")).items() if key not in _NOT_COPIED}
    notes = {**notes, **({ORIGIN_UID: uid} if uid else {})}
    return {
        "name": meta.get("name"),
        "namespace": meta.get("namespace"),
        "labels": {**own, **labels},
        **({"annotations": notes} if notes else {}),
    }


def made_for(meta: Mapping[str, Any], workload: str, placing: PlacementSettings) -> dict[str, Any]:
    """The metadata of a job or Pod that is created for this Workload. Other references to Workloads are removed."""
    labels, notes = dict(meta.get("labels") or {}), dict(meta.get("annotations") or {})
    in_label = not placing.annotated and len(workload) <= LONGEST_LABEL
    if not placing.annotated:
        labels.pop(PREBUILT, None)
        notes.pop(PREBUILT, None)
    (labels if in_label else notes)[PREBUILT] = workload
    return {**meta, "labels": labels, "annotations": notes}


# -- the job -----------------------------------------------------------------------------------------------------------


def job_copy(kind: JobKind, job: Manifest, workload: str, placing: PlacementSettings) -> dict[str, Any]:
    """The job to create on a worker: suspended, with a reference to the copy of its Workload, and managed there."""
    meta = made_for(copied(job, {ORIGIN: placing.origin}), workload, placing)
    made: dict[str, Any] = deepcopy({key: value for key, value in job.items() if key not in ("metadata", "status")})
    made["metadata"] = meta
    _set(made, kind.shape.suspend.path, kind.shape.suspend.on)
    if kind.shape.managed_by:
        _remove(made, kind.shape.managed_by)
    if kind.name == "Job":
        spec = {key: value for key, value in made["spec"].items() if key not in _ONLY_HERE}
        made["spec"] = {**spec, "template": without_labels(mapping(spec.get("template")), kind.own_labels)}
    return made


def owner_job(kind: JobKind, job: Manifest) -> OwnerJob:
    """The local job, with what placement needs."""
    return OwnerJob(
        kind_text(kind),
        has_managed_by=bool(kind.shape.managed_by),
        managed_by=text(at(job, kind.shape.managed_by)) or "" if kind.shape.managed_by else "",
        suspended=kind.suspended(job),
        quiet=kind.quiet(job),
    )


def unsupported(owner: Owner) -> OwnerJob:
    """The owner of a Workload whose kind cannot run on workers."""
    group, _, version = owner.api_version.rpartition("/")
    return OwnerJob(f"{group}/{version}, Kind={owner.kind}", adapted=False)


def kind_text(kind: JobKind) -> str:
    """The group, version and kind in Kubernetes' notation."""
    shape = kind.shape
    return f"{shape.kind.group}/{shape.version}, Kind={shape.kind.kind}"


def remote_job(kind: JobKind, job: Manifest | None, remote: Manifest) -> RemoteJob:
    """The job on a worker, compared with the local one."""
    unfinished = kind.ending(remote) is None
    running = unfinished and bool(total(remote, kind.shape.active.counts))
    reported = status_for(kind, job, remote) if job is not None else None
    news = reported is not None and job is not None and reported != mapping(job.get("status"))
    outdated = job is not None and bool(job_change(kind, job, remote))
    ran = job is not None and not kind.suspended(job) and not kind.quiet(job)
    return RemoteJob(
        news,
        running,
        unfinished,
        stopped=ran and kind.suspended(remote),
        deleting=bool(metadata(remote).get("deletionTimestamp")),
        outdated=outdated,
    )


def job_change(kind: JobKind, job: Manifest, remote: Manifest) -> dict[str, Any]:
    """The merge patch of the spec that updates the copy. Most kinds have no fields that are updated."""
    here, there = mapping(job.get("spec")), mapping(remote.get("spec"))
    fields = _FORWARDED.get(kind.shape.kind, ())
    return {field: here.get(field) for field in fields if here.get(field) != there.get(field)}


def status_for(kind: JobKind, job: Manifest, remote: Manifest) -> Mapping[str, Any] | None:
    """The new status of the local job; None while it must not change.

    The status of an ended job is always copied. Before the end, a job that MultiKueue does not manage gets none. A job
    that is suspended here gets a status only while its copy is suspended and has no pods. Otherwise it would get a
    start time, and then its pod template could not change any more.

    A batch Job may not withdraw an announced end, so another end cannot be shown.
    """
    ended = kind.ending(remote) is not None
    status = mapping(remote.get("status"))
    if kind.name == "Job":
        before = mapping(job.get("status"))
        if ended and not _announced(before) <= _announced(status):
            return None
        status = _acceptable_status(before, status, suspended=kind.suspended(job), ended=ended)
    if ended:
        return status
    managed_by = kind.shape.managed_by
    if managed_by and at(job, managed_by) != MULTIKUEUE:
        return None
    if kind.suspended(job) and not (kind.suspended(remote) and kind.quiet(remote)):
        return None
    return status


def _acceptable_status(
    before: Mapping[str, Any], status: Mapping[str, Any], *, suspended: bool, ended: bool
) -> Mapping[str, Any]:
    """The status of a batch Job in a form that the API server accepts after `before`, which may be of an earlier run.

    Counters may not decrease, and the start time of a Job that is not suspended may not change. The completion may not
    be before the start. A condition that announces the end may not be withdrawn, so it is copied only with the end.
    """
    made = dict(status)
    for counter in _COUNTERS:
        most = max(integer(before.get(counter)) or 0, integer(status.get(counter)) or 0)
        made |= {counter: most} if most else {}
    if before.get("startTime") and not suspended:
        made["startTime"] = before["startTime"]
        if "completionTime" in made and times.parse(made["completionTime"]) < times.parse(made["startTime"]):
            made["completionTime"] = made["startTime"]
    if not ended:
        others = [each for each in listing(status.get("conditions")) if mapping(each).get("type") not in _ANNOUNCEMENTS]
        announced = [each for each in listing(before.get("conditions")) if mapping(each).get("type") in _ANNOUNCEMENTS]
        made |= {"conditions": [*others, *announced]} if "conditions" in made or announced else {}
    return made


_COUNTERS = ("failed", "succeeded")
_ANNOUNCEMENTS = ("FailureTarget", "SuccessCriteriaMet")


def _announced(status: Mapping[str, Any]) -> set[str]:
    """The conditions in this status that announce the end of a batch Job."""
    conditions = map(mapping, listing(status.get("conditions")))
    return {each["type"] for each in conditions if each.get("type") in _ANNOUNCEMENTS and each.get("status") == "True"}


def settled(kind: JobKind, job: Manifest, now: int) -> dict[str, Any]:
    """The status of a stopped job whose worker is lost: no pods, not started, not ended."""
    active, ready = kind.shape.active, kind.shape.ready
    status = {key: deepcopy(value) for key, value in mapping(job.get("status")).items() if key not in _OF_PODS}
    made: dict[str, Any] = {**job, "status": status}
    for path in active.counts:
        _zero(made, path.split("."))
    for sign in filter(None, (active.sign, ready.sign if ready is not None else None)):
        for path in sign.fields:
            _remove(made, path)
        for name in sign.conditions:
            _set_false(status, name, now)
    for path, values in active.idle.items():
        _set_idle(kind, made, path, values)
    if active.resumed:
        others = [each for each in listing(status.get("conditions")) if mapping(each).get("type") != active.resumed]
        status["conditions"] = [*others, {"type": active.resumed, **_stopped("True", now)}]
    return status


_OF_PODS = ("active", "ready", "terminating", "startTime", "uncountedTerminatedPods")


def _zero(holder: object, steps: list[str]) -> None:
    """Set the numbers at a path to 0, if they exist."""
    step, *rest = steps
    if step == "*":
        for each in holder.values() if isinstance(holder, dict) else listing(holder):
            _zero(each, rest)
    elif isinstance(holder, dict) and step in holder:
        if rest:
            _zero(holder[step], rest)
        else:
            holder[step] = 0


def _stopped(status: str, now: int) -> dict[str, Any]:
    """The other fields of a condition. Some kinds require the time."""
    message = "Its worker cluster is lost"
    return {"status": status, "reason": "JobSuspended", "message": message, "lastTransitionTime": times.rfc3339(now)}


def _set_false(status: Mapping[str, Any], name: str, now: int) -> None:
    """Set a condition to False, if it exists."""
    for each in listing(status.get("conditions")):
        if isinstance(each, dict) and each.get("type") == name:
            each.update(_stopped("False", now))


def _set_idle(kind: JobKind, made: dict[str, Any], path: str, values: Iterable[object]) -> None:
    """Set a field to a value that it has in idle jobs: the last one of `values` with which the job has not ended."""
    found = at(made, path)
    if ("" if found is None else found) in values:
        return
    for value in reversed([*values]):
        _set(made, path, value) if value else _remove(made, path)
        if kind.ending(made) is None:
            return


def _set(holder: dict[str, Any], path: str, value: object) -> None:
    *steps, last = path.split(".")
    for step in steps:
        if not isinstance(holder.get(step), dict):
            holder[step] = {}
        holder = holder[step]
    holder[last] = value


def _remove(holder: dict[str, Any], path: str) -> None:
    *steps, last = path.split(".")
    for step in steps:
        found = holder.get(step)
        if not isinstance(found, dict):
            return
        holder = found
    holder.pop(last, None)
