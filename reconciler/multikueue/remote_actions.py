"""The writes on a worker for each placement decision, bound to what was read on the worker."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cluster.actions import Action, Create, Delete, Patch
from policies.dialects.kueue_checks import MULTIKUEUE
from policies.dialects.kueue_kinds import IN_USE
from policies.dialects.reading import Manifest, listing, metadata
from policies.model.objects import parted
from reconciler.jobs.described import JobKind
from reconciler.jobs.kind import job_patch
from reconciler.jobs.pod_writes import KIND as POD
from reconciler.multikueue.copies import clone_change, clone_of, job_change, job_copy
from reconciler.multikueue.worker_cache import WORKLOAD, RemoteJobRef, WorkerCache
from reconciler.objects.observed import Key, Observed
from reconciler.objects.packed import Packed
from reconciler.objects.patches import WORKLOADS, patch, status_patch
from reconciler.objects.watched import WORKLOAD_VIEW
from scheduling.objects.workload import Workload
from scheduling.placement.decisions import (
    CreateClone,
    CreateJob,
    DeleteClone,
    DeleteJob,
    EvictRemote,
    OpenGate,
    Remote,
    UpdateClone,
    UpdateJob,
)
from scheduling.placement.gates import with_open_gate
from scheduling.placement.settings import PlacementSettings
from scheduling.status.eviction import target_for_deactivation


@dataclass(frozen=True, slots=True)
class RemoteCase:
    """A workload with its job, and the cache of one worker.

    `name`: `namespace/name` of the workload.
    `local`: the workload; None if it is gone.
    `kind`, `job_key`: the kind and the key of its job.
    `job`: the job; None if it is gone.
    `cache`: the cache of the worker.
    `placing`: how workloads are placed.
    `now`: nanoseconds.
    """

    name: str
    local: Observed[Workload] | None
    kind: JobKind | None
    job_key: Key | None
    job: Packed | None
    cache: WorkerCache
    placing: PlacementSettings
    now: int


def remote_action(decision: Remote, case: RemoteCase, kinds: dict[str, JobKind]) -> tuple[Key, Action] | None:
    """The key of an object and its write; None if an object that the write needs has been deleted meanwhile."""
    match decision:
        case CreateClone() if case.local is not None:
            made = clone_of(case.local.manifest(), case.placing.origin, gated=case.placing.gated)
            return (WORKLOAD, case.name), Create(WORKLOADS, made, MULTIKUEUE)
        case CreateJob() if case.job is not None and case.kind is not None and case.job_key is not None:
            made = job_copy(case.kind, case.job.manifest(), parted(case.name)[1], case.placing)
            return case.job_key, Create(case.kind.resource, made, MULTIKUEUE)
        case DeleteJob():
            found = case.cache.job(case.name, case.job_key)
            kind = kinds.get(found.key[0]) if found is not None else None
            return _deleted_job(found, kind, decision) if found is not None and kind is not None else None
        case UpdateJob() if case.job is not None:
            found = case.cache.job(case.name, case.job_key)
            kind = kinds.get(found.key[0]) if found is not None else None
            return _changed_job(found, kind, case) if found is not None and kind is not None else None
        case DeleteClone() | UpdateClone() | EvictRemote() | OpenGate():
            observed = case.cache.get(WORKLOAD_VIEW, case.name)
            action = _on_clone(decision, case, observed) if observed is not None else None
            return ((WORKLOAD, case.name), action) if action is not None else None
    return None


def _changed_job(found: RemoteJobRef, kind: JobKind, case: RemoteCase) -> tuple[Key, Action] | None:
    if case.job is None:
        return None
    remote = found.packed.manifest()
    body = job_change(kind, case.job.manifest(), remote)
    return (found.key, job_patch(kind.resource, remote, {"spec": body}, manager=MULTIKUEUE)) if body else None


def _deleted_job(found: RemoteJobRef, kind: JobKind, decision: DeleteJob) -> tuple[Key, Action]:
    """Delete the job. If it may have pods, it exists until they are gone.

    A job without pods is deleted only at the version that was read: it may have been started since.
    """
    namespace, name = parted(found.key[1])
    version = found.version if decision.unchanged or not decision.running else ""
    action = Delete(
        kind.resource,
        namespace,
        name,
        version,
        uid=found.uid,
        background=not decision.running,
        foreground=decision.running,
    )
    return found.key, action


def _on_clone(decision: Remote, case: RemoteCase, observed: Observed[Workload]) -> Action | None:
    remote = observed.value
    match decision:
        case DeleteClone():
            pods = any(kind == POD for kind, _ in case.cache.jobs.of(case.name))
            return _deleted_clone(remote, observed.manifest(), pods=pods)
        case UpdateClone() if case.local is not None:
            body = clone_change(case.local.manifest(), observed.manifest())
            return patch(remote, {"spec": body}, MULTIKUEUE) if body else None
        case EvictRemote():
            left = target_for_deactivation(remote, "EvictedOnManagerCluster", decision.message, case.now)
            return status_patch(remote, left, MULTIKUEUE)
        case OpenGate():
            return status_patch(remote, replace(remote, gate_states=with_open_gate(remote, case.now)), MULTIKUEUE)
    return None


def _deleted_clone(remote: Workload, manifest: Manifest, *, pods: bool) -> Patch | Delete | None:
    """Delete the copy of the Workload. `pods`: it still has Pods, which have ended and are being deleted.

    Its finalizer protects the copy while a job owns it. The job is gone, so the finalizer is removed first. With Pods
    it is added: Kueue on the worker removes their finalizers only while it can read that their Workload is deleted.
    """
    finalizers = listing(metadata(manifest).get("finalizers"))
    if pods != (IN_USE in finalizers) and not (pods and remote.deleting):
        kept = [name for name in finalizers if name != IN_USE]
        return patch(remote, {"metadata": {"finalizers": [*kept, IN_USE] if pods else kept}}, MULTIKUEUE)
    if remote.deleting:
        return None
    return Delete(WORKLOADS, remote.namespace, remote.name, uid=remote.uid, background=True)
