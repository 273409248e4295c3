"""A simulated manager of Kueue v0.19.2 with two workers: its writes to all clusters, one at a time.

On the workers it has its own user, with the rights of Kueue's documentation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from policies.mutation.patching import merge_patch
from tests.apiserver.harness import ControlPlane
from tests.apiserver.multikueue.kueue_objects import ELASTIC, REPLACES, copy_of, job_copy, size, sized, workload_of
from tests.apiserver.multikueue.kueue_played import (
    ADMITTED,
    IN_USE,
    ORIGIN,
    PREBUILT,
    RESERVED,
    Api,
    Manifest,
    Played,
    Words,
    Write,
    admission,
    holds,
    message,
    prebuilt,
    reserves,
    written_now,
)
from tests.apiserver.multikueue.world import CHECK, World, conditions

USER = "kueue-manager"
RIGHTS = {
    "batch": {"jobs": ("create", "delete", "get", "list", "patch", "update", "watch"), "jobs/status": ("get",)},
    "kueue.x-k8s.io": {
        "workloads": ("create", "delete", "get", "list", "patch", "update", "watch"),
        "workloads/status": ("get", "patch", "update"),
    },
}


def grant(server: ControlPlane) -> None:
    """The rights of the manager's user on a worker."""
    rules = [
        {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
        for group, resources in RIGHTS.items()
        for resource, verbs in resources.items()
    ]
    rbac = "rbac.authorization.k8s.io"
    role = {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": USER}, "rules": rules}
    subject = {"kind": "User", "name": USER, "apiGroup": rbac}
    reference = {"kind": "ClusterRole", "name": USER, "apiGroup": rbac}
    binding = {**role, "kind": "ClusterRoleBinding", "subjects": [subject], "roleRef": reference}
    del binding["rules"]
    server.request("POST", f"/apis/{rbac}/v1/clusterroles", role)
    server.request("POST", f"/apis/{rbac}/v1/clusterrolebindings", binding)


@dataclass
class There:
    """The copies of a workload and its job on a worker."""

    name: str
    api: Api
    workload: Manifest | None
    job: Manifest | None


class KueueManager(Played):
    """`step`: how many workers each round nominates (0: all at once, None: an external dispatcher nominates); `rounds`
    have begun. `unreachable`: workers that it cannot reach. `errors`: the rejections by API servers.
    """

    def __init__(self, world: World, step: int | None = 0) -> None:
        super().__init__()
        self._here = Api(world.manager.server)
        self._there = {name: Api(each.server, USER) for name, each in world.workers.items()}
        self._lists: dict[str, tuple[list[Manifest], list[Manifest]]] = {}
        self.step = step
        self.rounds = 1
        self.unreachable: set[str] = set()
        self.errors: list[str] = []

    def refused(self, error: Exception) -> None:
        self.errors.append(str(error))

    def wanted(self) -> Iterator[tuple[str, Write]]:
        jobs, workloads = self._here.list("Job"), self._here.list("Workload")
        reachable = {name: api for name, api in self._there.items() if name not in self.unreachable}
        ours = f"{ORIGIN}=multikueue"
        self._lists = {name: (api.list("Workload", ours), api.list("Job", ours)) for name, api in reachable.items()}
        for each in workloads:
            if IN_USE in each["metadata"].get("finalizers", []) and _over(each):
                yield f"{each['metadata']['name']}: released", partial(self._release, each)
        for job in jobs:
            own = [each for each in workloads if _owned(each, job) and not holds(each, "Finished")]
            last = own or [each for each in workloads if _owned(each, job)]
            for words, write in (*self._resized(job, own), *self._of_job(job, last[-1] if last else None)):
                yield f"{job['metadata']['name']}: {words}", write
        yield from self._garbage({each["metadata"]["name"] for each in workloads})

    def _resized(self, job: Manifest, own: list[Manifest]) -> Iterator[tuple[str, Write]]:
        """Resize an elastic job: to a larger slice on the cluster of the previous one, or smaller in place."""
        if ELASTIC not in job["metadata"].get("annotations", {}) or not own:
            return
        last, wanted = own[-1], job["spec"]["parallelism"]
        if len(own) > 1 and reserves(last):
            over = {"Finished": ("True", "WorkloadSliceReplaced", "Replaced to accommodate a workload")}
            yield "replaced", lambda: self._here.apply_condition(own[0], over)
        if reserves(last) and wanted > size(last):
            yield "next slice", lambda: self._here.create(workload_of(job, last))
        elif wanted < size(last):
            yield "smaller slice", lambda: self._here.patch("Workload", last, sized(last, wanted))
        for name in self._lists:
            there = self._found(name, last["metadata"]["name"])
            if there.workload is not None and size(last) < size(there.workload):
                body = sized(there.workload, size(last))
                yield f"smaller on {name}", lambda t=there, b=body: t.api.patch("Workload", t.workload, b)  # type: ignore[misc]
            running = next(
                (each for each in self._lists[name][1] if each["metadata"]["name"] == job["metadata"]["name"]), None
            )
            admitted = holds(there.workload, "Admitted") and running is not None
            asked = (last["metadata"]["name"], size(last))
            if admitted and (prebuilt(running or {}), (running or {})["spec"]["parallelism"]) != asked:
                body = {"metadata": {"annotations": {PREBUILT: asked[0]}}, "spec": {"parallelism": asked[1]}}
                yield f"resized on {name}", lambda t=there, b=body, r=running: t.api.patch("Job", r or {}, b)  # type: ignore[misc]

    def _of_job(self, job: Manifest, local: Manifest | None) -> Iterator[tuple[str, Write]]:
        if local is None:
            yield "made", lambda: self._here.create(workload_of(job))
            return
        there = [self._found(name, local["metadata"]["name"]) for name in self._lists]
        if not reserves(local):
            for each in there:
                yield from _removed(each)
            if local["spec"].get("active", True) and not holds(local, "Finished"):
                yield "quota", lambda: self._reserve(local, self._cluster_before(local))
            return
        if any(holds(each.workload, "Finished") for each in there):
            yield from self._finished(job, local, next(each for each in there if holds(each.workload, "Finished")))
        elif holds(local, "Evicted"):
            yield from self._evicted(job, local, there)
        else:
            yield from self._placed(job, local, there)

    def _found(self, worker: str, name: str) -> There:
        workloads, jobs = self._lists[worker]
        copied = next((each for each in workloads if each["metadata"]["name"] == name), None)
        job = next((each for each in jobs if prebuilt(each) == name), None)
        return There(worker, self._there[worker], copied, job)

    # --- writes to the manager

    def _release(self, local: Manifest) -> None:
        self._here.patch("Workload", local, {"metadata": {"finalizers": None}})

    def _cluster_before(self, local: Manifest) -> str | None:
        """The cluster of the slice that it replaces."""
        name = local["metadata"].get("annotations", {}).get(REPLACES, "/").partition("/")[2]
        before = next((each for each in self._here.list("Workload") if each["metadata"]["name"] == name), {})
        return (before.get("status") or {}).get("clusterName")

    def _reserve(self, local: Manifest, cluster: str | None) -> None:
        now = {"QuotaReserved": ("True", "QuotaReserved", RESERVED)}
        now |= {
            kind: ("False", "QuotaReserved", f"Previously: {message(local, kind)}")
            for kind in ("Evicted", "Preempted")
            if holds(local, kind)
        }
        named: dict[str, Any] = {"clusterName": cluster} if cluster else {}
        self._here.apply_admission(local, now, admission=admission(local), admissionChecks=[_check("Pending")], **named)

    def _checked(self, local: Manifest, state: str, words: str, **status: Any) -> None:
        self._here.apply_admission(local, {}, admissionChecks=[_check(state, words)], **status)

    def _finished(self, job: Manifest, local: Manifest, there: There) -> Iterator[tuple[str, Write]]:
        assert there.workload is not None
        reason, words = conditions(there.workload)["Finished"][1], message(there.workload, "Finished")
        if reason in ("OutOfSync", "OwnerNotFound"):
            if _state(local) != "Retry":
                yield "retry", lambda: self._checked(local, "Retry", f"out of sync on {there.name}")
            yield from self._retried(local)
            return
        if there.job is not None and job.get("status") != there.job.get("status"):
            yield "last status", lambda: self._status(job, there.job)
        yield "finished", lambda: self._here.apply_condition(local, {"Finished": ("True", reason, words)})

    def _evicted(self, job: Manifest, local: Manifest, there: list[There]) -> Iterator[tuple[str, Write]]:
        words = message(local, "Evicted")
        target = {"DeactivationTarget": ("True", "EvictedOnManagerCluster", f"Evicted on manager: {words}")}
        for each in there:
            if each.workload is not None and holds(each.workload, "Admitted") and not _leaves(each.workload):
                yield f"evicted on {each.name}", lambda each=each: each.api.apply_admission(each.workload, target)  # type: ignore[misc]
        if not job["spec"]["suspend"]:
            yield "suspended", lambda: self._here.patch("Job", job, {"spec": {"suspend": True}})
        for each in there:
            if each.job is not None and job.get("status") != each.job.get("status") and each.job["spec"]["suspend"]:
                yield "status", lambda each=each: self._status(job, each.job)  # type: ignore[misc]
        runs = [each for each in there if each.job is not None and not each.job["spec"]["suspend"]]
        if not runs and not (job.get("status") or {}).get("active"):
            left: dict[str, Words] = {"QuotaReserved": ("False", "Pending", words)}
            reason = conditions(local)["Evicted"][1]
            left["Requeued"] = ("False", reason, words)
            if holds(local, "Admitted"):
                no_reservation = "The workload has no reservation and not all checks ready"
                left["Admitted"] = ("False", "NoReservationUnsatisfiedChecks", no_reservation)
            reset = _check("Pending", f"Reset to Pending after eviction. Previously: {_state(local)}")
            cleared: dict[str, Any] = {"admission": None, "clusterName": None, "nominatedClusterNames": None}
            yield "quota back", lambda: self._here.apply_admission(local, left, admissionChecks=[reset], **cleared)

    def _retried(self, local: Manifest) -> Iterator[tuple[str, Write]]:
        words = f'Evicted due to AdmissionCheck in Retry state: "{CHECK}"'
        if _state(local) == "Retry":
            gone: dict[str, Words] = {"Evicted": ("True", "AdmissionCheck", words)}
            yield "evicted", lambda: self._here.apply_admission(local, gone)

    # --- placement

    def _placed(self, job: Manifest, local: Manifest, there: list[There]) -> Iterator[tuple[str, Write]]:
        if not local["spec"].get("active", True):
            gone: dict[str, Words] = {"Evicted": ("True", "Deactivated", "The workload is deactivated")}
            yield "deactivated", lambda: self._here.apply_admission(local, gone)
        yield from self._retried(local)
        yield from self._lost(local, there)
        for each in there:
            if each.workload is not None and _drifted(local, each.workload):
                body = {"spec": {key: local["spec"].get(key) for key in ("priority", "priorityClassRef")}}
                yield f"priority on {each.name}", lambda e=each, b=body: e.api.patch("Workload", e.workload, b)  # type: ignore[misc]
        admitted = [each for each in there if each.workload is not None and holds(each.workload, "Admitted")]
        if admitted:
            yield from self._runs(job, local, there, min(admitted, key=lambda each: (_since(each), each.name)))
        elif _state(local) == "Pending":
            yield from self._nominated(local, there)

    def _lost(self, local: Manifest, there: list[There]) -> Iterator[tuple[str, Write]]:
        """Retry if its worker has evicted it, or no longer has it."""
        cluster = (local.get("status") or {}).get("clusterName")
        where = next((each for each in there if each.name == cluster), None)
        if where is None or _state(local) != "Ready":
            return
        if where.workload is None:
            words = "Admitting remote no longer exists"
            yield "retry", lambda: self._checked(local, "Retry", words)
        elif holds(where.workload, "Evicted"):
            words = f'Workload evicted on worker cluster: "{cluster}", resetting for re-admission'
            yield "retry", lambda: self._checked(local, "Retry", words)

    def _nominated(self, local: Manifest, there: list[There]) -> Iterator[tuple[str, Write]]:
        status = local.get("status") or {}
        named = [status["clusterName"]] if status.get("clusterName") else status.get("nominatedClusterNames") or []
        if self.step is not None and not status.get("clusterName"):
            wanted = list(self._there)[: self.step * self.rounds or None]
            if named != wanted:
                yield "nominated", lambda: self._here.apply_admission(local, {}, nominatedClusterNames=wanted)
        for each in there:
            if each.name in named and each.workload is None:
                yield f"copied to {each.name}", lambda each=each: each.api.create(copy_of(local))  # type: ignore[misc]

    def _runs(self, job: Manifest, local: Manifest, there: list[There], winner: There) -> Iterator[tuple[str, Write]]:
        for each in there:
            if each is not winner:
                yield from _removed(each)
        if winner.job is None:
            made = job_copy(job, local["metadata"]["name"])
            yield f"job to {winner.name}", lambda: winner.api.create(made)
            return
        if _state(local) != "Ready":
            words = f'The workload was admitted on "{winner.name}"'
            named = {"clusterName": winner.name, "nominatedClusterNames": None}
            yield "ready", lambda: self._checked(local, "Ready", words, **named)
        if not holds(local, "Admitted"):
            now: dict[str, Words] = {"Admitted": ("True", "Admitted", ADMITTED)}
            yield "admitted", lambda: self._here.apply_admission(local, now)
        if job["spec"]["suspend"]:
            yield "started", lambda: self._here.patch("Job", job, {"spec": {"suspend": False}})
        if not winner.job["spec"]["suspend"] and job.get("status") != winner.job.get("status"):
            yield "status", lambda: self._status(job, winner.job)

    def _status(self, job: Manifest, remote: Manifest | None) -> None:
        """Copy the whole status: fields that were removed on the worker are removed here, also in nested maps."""
        body = merge_patch(job.get("status") or {}, (remote or {}).get("status") or {})
        self._here.patch("Job", job, {"status": body}, "/status")

    def _garbage(self, known: set[str]) -> Iterator[tuple[str, Write]]:
        """Delete copies whose original does not exist any more."""
        for worker, (workloads, _) in self._lists.items():
            for copied in workloads:
                name = copied["metadata"]["name"]
                if name not in known:
                    for words, write in _removed(self._found(worker, name)):
                        yield f"{name}: {words}", write


def _over(workload: Manifest) -> bool:
    return holds(workload, "Finished") or bool(workload["metadata"].get("deletionTimestamp"))


def _owned(workload: Manifest, job: Manifest) -> bool:
    return any(each["uid"] == job["metadata"]["uid"] for each in workload["metadata"].get("ownerReferences", []))


def _removed(there: There) -> Iterator[tuple[str, Write]]:
    """Delete the job, then the finalizer of its Workload, then the Workload."""
    if there.job is not None and not there.job["metadata"].get("deletionTimestamp"):
        yield f"job off {there.name}", lambda: there.api.delete("Job", there.job or {})
    workload = there.workload
    if workload is None:
        return
    if IN_USE in workload["metadata"].get("finalizers", []):
        kept = [each for each in workload["metadata"]["finalizers"] if each != IN_USE]
        yield (
            f"released on {there.name}",
            lambda: there.api.patch("Workload", workload, {"metadata": {"finalizers": kept}}),
        )
    if not workload["metadata"].get("deletionTimestamp"):
        yield f"copy off {there.name}", lambda: there.api.delete("Workload", workload)


def _drifted(local: Manifest, remote: Manifest) -> bool:
    return any(local["spec"].get(key) != remote["spec"].get(key) for key in ("priority", "priorityClassRef"))


def _check(state: str, words: str = "") -> Manifest:
    return {"name": CHECK, "state": state, "message": words, "lastTransitionTime": written_now()}


def _state(local: Manifest) -> str:
    checks = (local.get("status") or {}).get("admissionChecks") or []
    return next((str(each["state"]) for each in checks if each["name"] == CHECK), "")


def _leaves(workload: Mapping[str, Any]) -> bool:
    return holds(dict(workload), "DeactivationTarget") or not workload["spec"].get("active", True)


def _since(there: There) -> str:
    found = ((there.workload or {}).get("status") or {}).get("conditions", [])
    return next((str(each["lastTransitionTime"]) for each in found if each["type"] == "Admitted"), "")
