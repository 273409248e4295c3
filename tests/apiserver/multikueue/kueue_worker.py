"""Kueue v0.19.2 on a worker, played: what its manager writes there, one write at a time and in its order.

It remembers nothing that the API server does not hold, so it may end behind any write and another goes on from there.
The words of its conditions, and who writes what, are Kueue's.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from tests.apiserver.harness import ApiError
from tests.apiserver.multikueue.world import Cluster, conditions, path

K = "kueue.x-k8s.io/"
IN_USE, STOPPING, PREBUILT = f"{K}resource-in-use", f"{K}stopping", f"{K}prebuilt-workload-name"
ADMISSION = "kueue-admission"
OF_ADMISSION = ("QuotaReserved", "Admitted", "Evicted", "Preempted", "Requeued", "DeactivationTarget")
"""The conditions that Kueue applies together; those that it leaves out are no longer its own."""
RESERVED = "Quota reserved in ClusterQueue team"
NO_ROOM = "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor plain, {} more needed"
READY = "All pods reached readiness and the workload is running"
MILLI = 1000

Manifest = dict[str, Any]
Write = Callable[[], None]


class KueueWorker:
    """The manager of Kueue on one worker, in a thread of its own from `start` to `end`. `writes`: in words."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._left = 0
        self.writes: list[str] = []

    def start(self, die_at: int = 0) -> None:
        """`die_at`: it ends right behind that many writes."""
        self._ended.clear()
        self._left = die_at
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def dead(self) -> bool:
        return self._thread is None or not self._thread.is_alive()

    def end(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join(20)
            self._thread = None

    def preempt(self, name: str) -> None:
        """As for a workload of higher priority in its ClusterQueue."""
        message = (
            "Preempted to accommodate a workload (UID: 1234, JobUID: 5678) due to prioritization in the ClusterQueue"
        )
        reasons = {"Evicted": "Preempted", "Preempted": "InClusterQueue"}
        found = self._cluster.get("Workload", name)
        assert found is not None
        self._apply(found, {kind: ("True", reason, message) for kind, reason in reasons.items()})

    # --- its loop

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                wrote = self._step()
            except (ApiError, OSError):  # a conflict, or the object has gone: it looks again
                wrote = False
            if wrote and self._left:
                self._left -= 1
                if not self._left:
                    return
            if not wrote:
                self._ended.wait(0.1)

    def _step(self) -> bool:
        jobs = {each["metadata"]["name"]: each for each in self._list("Job")}
        workloads = self._list("Workload")
        free = self._nominal() - sum(_asked(each) for each in workloads if _reserves(each))
        for workload in sorted(workloads, key=lambda each: each["metadata"]["creationTimestamp"]):
            job = next((each for each in jobs.values() if _prebuilt(each) == workload["metadata"]["name"]), None)
            for words, write in self._wanted(workload, job, free):
                write()
                self.writes.append(f"{workload['metadata']['name']}: {words}")
                return True
        return False

    def _list(self, kind: str) -> list[Manifest]:
        return list(self._cluster.server.request("GET", path(kind, "default"))["items"])

    def _nominal(self) -> int:
        queue = self._cluster.get("ClusterQueue", "team")
        assert queue is not None
        return _milli(queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"])

    # --- one workload, one write

    def _wanted(self, workload: Manifest, job: Manifest | None, free: int) -> Iterator[tuple[str, Write]]:
        """What it would write of it, the first first."""
        said = conditions(workload)
        if workload["metadata"].get("deletionTimestamp") or said.get("Finished", ("", ""))[0] == "True":
            if IN_USE in workload["metadata"].get("finalizers", []):
                yield "finalizer off", lambda: self._patch("Workload", workload, {"metadata": {"finalizers": None}})
            return
        yield from self._evicted(workload, job, said)
        if job is not None:
            yield from self._of_job(workload, job, said)
        if workload["spec"].get("active", True) and said.get("QuotaReserved", ("", ""))[0] != "True":
            yield from self._scheduled(workload, said, free)

    def _scheduled(
        self, workload: Manifest, said: dict[str, tuple[str, str]], free: int
    ) -> Iterator[tuple[str, Write]]:
        asked = _asked(workload)
        if said.get("Evicted", ("", ""))[0] == "True" and said.get("Requeued", ("", ""))[0] != "True":
            return
        if asked <= free:
            pods = workload["spec"]["podSets"][0]
            usage = {"cpu": f"{asked}m"}
            assigned = {"name": "main", "flavors": {"cpu": "plain"}, "resourceUsage": usage, "count": pods["count"]}
            admission = {"clusterQueue": "team", "podSetAssignments": [assigned]}
            now = {"QuotaReserved": ("True", "QuotaReserved", RESERVED)}
            now["Admitted"] = ("True", "Admitted", "The workload is admitted")
            for kind in ("Evicted", "Preempted"):
                if said.get(kind, ("", ""))[0] == "True":
                    now[kind] = ("False", "QuotaReserved", f"Previously: {_message(workload, kind)}")
            yield "admitted", lambda: self._apply(workload, now, admission=admission)
        elif said.get("QuotaReserved") != ("False", "Pending") or not (workload.get("status") or {}).get(
            "resourceRequests"
        ):
            more = NO_ROOM.format(f"{asked - max(free, 0)}m")
            asks = [{"name": "main", "resources": {"cpu": f"{asked}m"}}]
            waits = {"QuotaReserved": ("False", "Pending", more)}
            yield "pending", lambda: self._apply(workload, waits, resourceRequests=asks)

    def _evicted(
        self, workload: Manifest, job: Manifest | None, said: dict[str, tuple[str, str]]
    ) -> Iterator[tuple[str, Write]]:
        active = workload["spec"].get("active", True)
        target = said.get("DeactivationTarget", ("", ""))
        if target[0] == "True" and active:
            yield "inactive", lambda: self._patch("Workload", workload, {"spec": {"active": False}})
        evicted = said.get("Evicted", ("", ""))[0] == "True"
        if not active and not evicted and _reserves(workload):
            cause = target[1] if target[0] == "True" else ""
            why = f" due to {_message(workload, 'DeactivationTarget')}" if cause else ""
            reason = f"DeactivatedDueTo{cause}" if cause else "Deactivated"
            gone = {"Evicted": ("True", reason, f"The workload is deactivated{why}")}
            yield "evicted", lambda: self._apply(workload, gone, without=("DeactivationTarget",))
        if not evicted or not _reserves(workload):
            return
        if job is not None:
            yield from self._stopped(job)
            if (job.get("status") or {}).get("active"):
                return
        reason = said["Evicted"][1]
        message = _message(workload, "Evicted")
        left = {"QuotaReserved": ("False", "Pending", message)}
        left["Admitted"] = ("False", "NoReservation", "The workload has no reservation")
        left["Requeued"] = ("True" if reason == "Preempted" else "False", reason, message)
        yield "quota back", lambda: self._apply(workload, left, admission=None)

    def _stopped(self, job: Manifest) -> Iterator[tuple[str, Write]]:
        """The three writes with which Kueue stops a Job."""
        stopping = STOPPING in job["metadata"].get("annotations", {})
        if not job["spec"]["suspend"]:
            body: Manifest = {"metadata": {"annotations": {STOPPING: "true"}}, "spec": {"suspend": True}}
            yield "suspended", lambda: self._patch("Job", job, body)
        elif stopping and (job.get("status") or {}).get("startTime"):
            yield "start time off", lambda: self._patch("Job", job, {"status": {"startTime": None}}, "/status")
        elif stopping:
            labels = {f"{K}{each}": None for each in ("podset", "cluster-queue-name", "local-queue-name")}
            restored = {"spec": {"template": {"metadata": {"labels": labels}}}}
            done = {"metadata": {"annotations": {STOPPING: None}}, **restored}
            yield "template restored", lambda: self._patch("Job", job, done)

    def _of_job(
        self, workload: Manifest, job: Manifest, said: dict[str, tuple[str, str]]
    ) -> Iterator[tuple[str, Write]]:
        """What its reconciler of jobs does: own, finish, say whether pods are ready, start."""
        meta = job["metadata"]
        if not workload["metadata"].get("ownerReferences"):
            owner = {"apiVersion": "batch/v1", "kind": "Job", "name": meta["name"], "uid": meta["uid"]}
            mine = {
                "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
                "finalizers": [IN_USE],
            }
            yield "owned", lambda: self._patch("Workload", workload, {"metadata": mine})
        status = job.get("status") or {}
        for each in status.get("conditions", []):
            if each["type"] in ("Complete", "Failed") and each["status"] == "True":
                reason = "Succeeded" if each["type"] == "Complete" else "Failed"
                end = {"Finished": ("True", reason, each.get("message") or "Job finished successfully")}
                yield "finished", lambda end=end: self._condition(workload, end)  # type: ignore[misc]
        admitted = said.get("Admitted", ("", ""))[0] == "True" and said.get("Evicted", ("", ""))[0] != "True"
        ready = admitted and int(status.get("ready") or 0) + int(status.get("succeeded") or 0) >= 1
        wanted = (
            ("True", "Started", READY) if ready else ("False", "WaitForStart", "Not all pods are ready or succeeded")
        )
        if said.get("PodsReady") != wanted[:2] and not (said.get("PodsReady", ("", ""))[0] == "True" and admitted):
            yield "pods ready", lambda: self._condition(workload, {"PodsReady": wanted})
        if admitted and job["spec"]["suspend"]:
            marks = {f"{K}podset": "main", f"{K}cluster-queue-name": "team", f"{K}local-queue-name": "main"}
            body = {"spec": {"suspend": False, "template": {"metadata": {"labels": marks}}}}
            yield "started", lambda: self._patch("Job", job, body)

    # --- writes

    def _patch(self, kind: str, read: Manifest, body: Manifest, sub: str = "") -> None:
        meta = {**body.get("metadata", {}), "resourceVersion": read["metadata"]["resourceVersion"]}
        self._cluster.patch(kind, read["metadata"]["name"], {**body, "metadata": meta}, sub=sub)

    def _apply(
        self,
        workload: Manifest,
        now: dict[str, tuple[str, str, str]],
        without: tuple[str, ...] = (),
        **status: Any,
    ) -> None:
        """All that Kueue's admission says of a workload, whole, as it applies it: without a resource version."""
        before = workload.get("status") or {}
        kept = [each for each in before.get("conditions", []) if each["type"] in OF_ADMISSION]
        said = [each for each in kept if each["type"] not in now and each["type"] not in without]
        said += [_condition(workload, kind, *words) for kind, words in now.items()]
        own = {key: before[key] for key in ("admission", "admissionChecks", "requeueState") if key in before}
        whole = {key: value for key, value in {**own, **status}.items() if value is not None}
        self._ssa(workload, ADMISSION, {**whole, "conditions": said})

    def _condition(self, workload: Manifest, now: dict[str, tuple[str, str, str]]) -> None:
        for kind, words in now.items():
            said = [_condition(workload, kind, *words)]
            self._ssa(workload, f"kueue-job-controller-{kind}", {"conditions": said})

    def _ssa(self, workload: Manifest, manager: str, status: Manifest) -> None:
        meta = {"name": workload["metadata"]["name"], "namespace": "default", "uid": workload["metadata"]["uid"]}
        body = {"apiVersion": workload.get("apiVersion") or f"{K}v1beta2", "kind": "Workload", "metadata": meta}
        at = f"{path('Workload', 'default')}/{meta['name']}/status?fieldManager={manager}&force=true"
        applied = "application/apply-patch+yaml"
        self._cluster.server.request(
            "PATCH", at, json.loads(json.dumps({**body, "status": status})), content_type=applied
        )


def _condition(workload: Manifest, kind: str, status: str, reason: str, message: str) -> Manifest:
    """As Kueue writes it; the time stays where the status does."""
    found = ((workload.get("status") or {}).get("conditions")) or []
    before: Manifest = next((each for each in found if each["type"] == kind), {})
    since = before.get("lastTransitionTime") if before.get("status") == status else None
    said = {"type": kind, "status": status, "reason": reason, "message": message}
    said["lastTransitionTime"] = since or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    observed = {} if kind == "Preempted" else {"observedGeneration": workload["metadata"]["generation"]}
    return {**said, **observed}


def _message(workload: Manifest, kind: str) -> str:
    found = (workload.get("status") or {}).get("conditions", [])
    return next((str(each["message"]) for each in found if each["type"] == kind), "")


def _prebuilt(job: Manifest) -> str:
    meta = job["metadata"]
    return str(meta.get("annotations", {}).get(PREBUILT) or meta.get("labels", {}).get(PREBUILT) or "")


def _reserves(workload: Manifest) -> bool:
    said = conditions(workload)
    return said.get("QuotaReserved", ("", ""))[0] == "True" and said.get("Finished", ("", ""))[0] != "True"


def _asked(workload: Manifest) -> int:
    """Milli-CPU of all its pods."""
    total = 0
    for pods in workload["spec"]["podSets"]:
        for container in pods["template"]["spec"]["containers"]:
            total += int(pods["count"]) * _milli(container["resources"]["requests"]["cpu"])
    return total


def _milli(quantity: str) -> int:
    return int(quantity[:-1]) if quantity.endswith("m") else int(quantity) * MILLI
