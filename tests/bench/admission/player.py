"""Simulated people who create Workloads, and simulated jobs that run, finish, and stop if they are evicted."""

from __future__ import annotations

import heapq
import threading
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Self

from cluster.client import ClusterClient
from cluster.endpoint import from_kubeconfig
from cluster.reflector import ChangeKind, Reflector
from reconciler.objects.patches import WORKLOADS
from scheduling.objects.reading import read_workload
from scheduling.objects.times import SECOND, rfc3339
from scheduling.status.deadlines import release
from scheduling.status.writing import written_status
from tests.apiserver.kueue_world import KUEUE
from tests.bench.admission.lines import MERGE, Group, Line
from tests.bench.admission.offered import NAMESPACE, Job, Manifest

_PATH = f"{KUEUE}/namespaces/{NAMESPACE}/workloads"
_WRITERS = 16
"""The number of connections: more than the reconciler has, so that the jobs are never the bottleneck."""


class Creators:
    """Processes that create the objects of `jobs`, each at its time after `begin` (seconds since 1970)."""

    def __init__(self, kubeconfig: Path, jobs: list[Job], begin: float, processes: int = 4, path: str = _PATH) -> None:
        self._pool = ProcessPoolExecutor(processes)
        self._parts: list[Future[tuple[dict[str, float], Counter[Group]]]] = [
            self._pool.submit(_create, kubeconfig, jobs[part::processes], begin, path) for part in range(processes)
        ]

    def done(self) -> tuple[dict[str, float], Counter[Group]]:
        """Wait until all are created. Returns the time of each creation, and the number of requests."""
        created: dict[str, float] = {}
        sent: Counter[Group] = Counter()
        for part in self._parts:
            some, requests = part.result()
            created |= some
            sent += requests
        self._pool.shutdown()
        return created, sent


def _create(kubeconfig: Path, jobs: list[Job], begin: float, path: str) -> tuple[dict[str, float], Counter[Group]]:
    created = {}
    with Line(kubeconfig) as line:
        for job in jobs:
            time.sleep(max(0.0, begin + job.comes - time.time()))
            created[job.name] = time.time()
            line.create(path, job.manifest)
        return created, line.sent


@dataclass
class _Run:
    """A simulated job. `manifest`: its Workload as last seen; `ends`: when it will have run long enough."""

    runs: float | None
    manifest: Manifest = field(default_factory=dict)
    ends: float | None = None
    writing: bool = False


class Player:
    """A context manager that watches the Workloads and plays their jobs.

    `admitted`: when each Workload was first seen admitted; `admissions`: the number of all admissions.
    """

    def __init__(self, kubeconfig: Path, jobs: list[Job]) -> None:
        self.admitted: dict[str, float] = {}
        self.admissions = 0
        self.evictions = 0
        self.finished: set[str] = set()
        self.last_admission = 0.0
        self._kubeconfig = kubeconfig
        self._runs = {job.name: _Run(job.runs) for job in jobs}
        self._lines: list[Line] = []
        self._lock = threading.Condition()
        self._alarms: list[tuple[float, str]] = []
        self._work: SimpleQueue[str | None] = SimpleQueue()
        self._reflector: Reflector[Manifest] | None = None
        self._ended = False
        self._threads = [threading.Thread(target=self._write, daemon=True) for _ in range(_WRITERS)]
        self._threads.append(threading.Thread(target=self._ring, daemon=True))

    def __enter__(self) -> Self:
        self._cluster = ClusterClient(from_kubeconfig(None, str(self._kubeconfig)))
        self._reflector = Reflector(
            self._cluster, WORKLOADS, self._changed, on_replace=self._listed, keep=_whole, namespace=NAMESPACE
        )
        for thread in self._threads:
            thread.start()
        self._reflector.start()
        self._reflector.synced.wait()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._ended = True
            self._lock.notify_all()
        for _thread in self._threads:
            self._work.put(None)
        if self._reflector is not None:
            self._reflector.stop()
        for thread in self._threads:
            thread.join()
        self._cluster.close()

    def sent(self) -> Counter[Group]:
        """The number of requests so far, by group."""
        return sum((line.sent for line in self._lines), Counter[Group]())

    def _changed(self, kind: ChangeKind, manifest: Manifest, _: str) -> None:
        if kind != "DELETED":
            with self._lock:
                self._see(manifest)

    def _listed(self, manifests: tuple[Manifest, ...], _: str) -> None:
        with self._lock:
            for each in manifests:
                self._see(each)

    def _see(self, manifest: Manifest) -> None:
        name = manifest["metadata"]["name"]
        run = self._runs[name]
        run.manifest = manifest
        held = _held(manifest)
        if "Finished" in held:
            self.finished.add(name)
        elif "Evicted" in held or "QuotaReserved" not in held:
            run.ends = None
            if "QuotaReserved" in held:
                self._stir(name, run)
        elif "Admitted" in held:
            self._admitted(name, run)

    def _admitted(self, name: str, run: _Run) -> None:
        if run.ends is None:
            self.admissions += 1
            self.last_admission = time.time()
            self.admitted.setdefault(name, self.last_admission)
            run.ends = time.time() + run.runs if run.runs is not None else float("inf")
            if run.runs is not None:
                heapq.heappush(self._alarms, (run.ends, name))
                self._lock.notify_all()
        elif run.ends <= time.time():
            self._stir(name, run)

    def _stir(self, name: str, run: _Run) -> None:
        """Queue a write for the job of this Workload."""
        if not run.writing:
            run.writing = True
            self._work.put(name)

    def _ring(self) -> None:
        with self._lock:
            while not self._ended:
                now = time.time()
                while self._alarms and self._alarms[0][0] <= now:
                    _, name = heapq.heappop(self._alarms)
                    self._stir(name, self._runs[name])
                self._lock.wait(self._alarms[0][0] - now if self._alarms else None)

    def _write(self) -> None:
        with Line(self._kubeconfig) as line:
            self._lines.append(line)
            while (name := self._work.get()) is not None:
                run = self._runs[name]
                with self._lock:
                    run.writing = False
                    manifest = run.manifest
                    body = self._report(run)
                if body is None:
                    continue
                body["metadata"] = {"resourceVersion": manifest["metadata"]["resourceVersion"]}
                status, answer = line.send("PATCH", f"{_PATH}/{name}/status", body, MERGE)
                if status not in (200, 409):
                    raise RuntimeError(f"{name}: {status}: {answer[:300]!r}")
                if status == 409:
                    with self._lock:  # the watch may have brought a newer version before this answer
                        if run.manifest is not manifest:
                            self._see(run.manifest)

    def _report(self, run: _Run) -> Manifest | None:
        """The status that the job writes now: finished or stopped."""
        held = _held(run.manifest)
        if "Finished" in held or "QuotaReserved" not in held:
            return None
        if "Evicted" in held:
            self.evictions += 1
            return _stopped(run.manifest)
        if run.ends is None or run.ends > time.time():
            return None
        over = {"type": "Finished", "status": "True", "reason": "Succeeded", "message": "Job finished successfully"}
        over["lastTransitionTime"] = rfc3339(_now())
        return {"status": {"conditions": [*run.manifest["status"]["conditions"], over]}}


def _stopped(manifest: Manifest) -> Manifest:
    status: Mapping[str, Any] = written_status(release(read_workload(manifest), _now()))
    gone = {key: None for key in manifest["status"] if key not in status}
    return {"status": {**status, **gone}}


def _whole(manifest: Manifest) -> Manifest:
    return manifest


def _held(manifest: Manifest) -> set[str]:
    conditions = manifest.get("status", {}).get("conditions", ())
    return {each["type"] for each in conditions if each["status"] == "True"}


def _now() -> int:
    return time.time_ns() // SECOND * SECOND
