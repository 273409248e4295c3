"""The rate at which three API servers take the writes of placements from writers that decide nothing and never wait.

They send the requests of the reconcilers for each placement, over as many connections, while the same kinds are
watched. No write depends on another cluster, so the rate is higher than any manager could reach.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cluster.actions import Create, Delete, Patch
from cluster.apply import perform
from cluster.client import ClusterClient
from cluster.endpoint import from_kubeconfig
from cluster.resource import Resource
from policies.dialects.kueue_checks import MULTIKUEUE as MANAGER
from policies.dialects.reading import Manifest
from reconciler.jobs.batch_job import BATCH
from reconciler.objects.patches import ADMISSION_MANAGER, JOB_MANAGER, WORKLOADS, condition_manager

_APART = "floor"
"""The namespace of these objects; no LocalQueue is in it."""
_JOBS = BATCH.resource
_EVENTS = Resource("", "v1", "events", namespaced=True)
_CONNECTIONS = 8
"""The number of connections of a writer of the reconciler."""
_FILLED_IN = ("managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "ownerReferences")
_LONG = 3600


@dataclass(frozen=True)
class Sample:
    """A Job and its Workload as a placement left them on a cluster, and the number of Events of a placement there.

    `wins`: the share of all placements in which this worker gets the Job; None for the manager, which has all Jobs.
    """

    job: Manifest
    workload: Manifest
    events: float
    wins: float | None = None


def placements_a_second(logins: Mapping[str, Path], samples: Mapping[str, Sample], count: int) -> float:
    """The rate of placements. `logins` and `samples` are by cluster. No reconciler may run meanwhile."""
    for login in logins.values():
        with _client(login) as cluster:
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _APART}}
            cluster.create("/api/v1/namespaces", body, field_manager=MANAGER)
    managers = [name for name, sample in samples.items() if sample.wins is None]
    with ExitStack() as opened:
        for name, login in logins.items():
            for _ in {name, *managers}:  # the worker itself and its manager
                opened.enter_context(_watched(login))
        pool: Executor = opened.enter_context(ProcessPoolExecutor(len(logins)))
        begin = time.time() + 1.0
        ends: list[Future[float]] = [
            pool.submit(_write_all, login, samples[name], count, begin) for name, login in logins.items()
        ]
        return count / (max(each.result() for each in ends) - begin)


def _client(login: Path) -> ClusterClient:
    return ClusterClient(from_kubeconfig(None, str(login)), attempts=1)


@contextmanager
def _watched(login: Path) -> Iterator[None]:
    with ExitStack() as opened:
        cluster = opened.enter_context(_client(login))
        for resource in (WORKLOADS, _JOBS):
            version = cluster.get(resource.collection(_APART), {"limit": "1"})["metadata"]["resourceVersion"]
            watch = cluster.watch(resource, version, seconds=_LONG)
            thread = threading.Thread(target=lambda watch=watch: [*watch], daemon=True)  # type: ignore[misc]
            thread.start()
            opened.callback(watch.close)
            opened.callback(thread.join)
            opened.callback(watch.interrupt)
        yield


def _write_all(login: Path, sample: Sample, count: int, begin: float) -> float:
    """Make the writes of `count` placements. Returns the time of the end in seconds since 1970."""
    connections = _CONNECTIONS if sample.wins is None else 2 * _CONNECTIONS  # those of the manager as well
    with _client(login) as cluster, ThreadPoolExecutor(connections) as pool:
        time.sleep(max(0.0, begin - time.time()))
        for done in [pool.submit(_place, cluster, sample, turn) for turn in range(count)]:
            done.result()
    return time.time()


def _place(cluster: ClusterClient, sample: Sample, turn: int) -> None:
    """Make the writes of one placement on this cluster, one after the other."""
    if sample.wins is None:
        _on_manager(cluster, sample, f"f{turn}")
    else:
        _on_worker(cluster, sample, f"f{turn}", wins=_share(turn, sample.wins) > 0)
    for number in range(_share(turn, sample.events)):
        _create(cluster, _EVENTS, _event(f"f{turn}-{number}"), MANAGER)


def _share(turn: int, each: float) -> int:
    """The number that falls to this turn if the average of all turns is `each`."""
    return int((turn + 1) * each) - int(turn * each)


def _on_manager(cluster: ClusterClient, sample: Sample, name: str) -> None:
    job = _create(cluster, _JOBS, {**_anew(sample.job, name), "spec": {**_spec(sample.job), "suspend": True}}, MANAGER)
    workload = _create(cluster, WORKLOADS, _anew(sample.workload, name), JOB_MANAGER)
    status = sample.workload["status"]
    conditions, places = status["conditions"], ("clusterName",)
    reserved = {key: value for key, value in status.items() if key not in places}
    workload = _patch(cluster, workload, {"status": {"conditions": conditions[:1]}}, condition_manager("PodsReady"))
    workload = _patch(cluster, workload, {"status": {**reserved, "conditions": conditions[:2]}}, ADMISSION_MANAGER)
    chosen = {"clusterName": status["clusterName"], "conditions": conditions[:-1]}
    workload = _patch(cluster, workload, {"status": chosen}, MANAGER)
    checks = {"admissionChecks": status["admissionChecks"], "conditions": conditions}
    _patch(cluster, workload, {"status": checks}, MANAGER)
    _patch(cluster, job, {"spec": {"suspend": False}}, JOB_MANAGER)


def _on_worker(cluster: ClusterClient, sample: Sample, name: str, *, wins: bool) -> None:
    workload = _create(cluster, WORKLOADS, _anew(sample.workload, name), MANAGER)
    workload = _patch(cluster, workload, {"status": sample.workload["status"]}, ADMISSION_MANAGER)
    if not wins:
        perform(cluster, Delete(WORKLOADS, _APART, name, uid=workload["metadata"]["uid"], background=True))
        return
    job = _create(cluster, _JOBS, {**_anew(sample.job, name), "spec": {**_spec(sample.job), "suspend": True}}, MANAGER)
    meta = job["metadata"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": meta["uid"], "controller": True}
    workload = _patch(cluster, workload, {"metadata": {"ownerReferences": [owner]}}, JOB_MANAGER)
    ready = {"conditions": sample.workload["status"]["conditions"][:-1]}
    _patch(cluster, workload, {"status": ready}, condition_manager("PodsReady"))
    _patch(cluster, job, {"spec": {"suspend": False}}, JOB_MANAGER)


def _create(cluster: ClusterClient, resource: Resource, body: Mapping[str, Any], manager: str) -> Manifest:
    return perform(cluster, Create(resource, body, manager))


def _patch(cluster: ClusterClient, stored: Manifest, body: Mapping[str, Any], manager: str) -> Manifest:
    meta, resource = stored["metadata"], _JOBS if stored["kind"] == "Job" else WORKLOADS
    action = Patch(resource, _APART, meta["name"], body, meta["resourceVersion"], manager)
    return perform(cluster, replace(action, subresource="status") if "status" in body else action)


def _anew(manifest: Manifest, name: str) -> dict[str, Any]:
    """The manifest as it was created, under a new name."""
    meta = {key: value for key, value in manifest["metadata"].items() if key not in (*_FILLED_IN, "finalizers")}
    labels = {key: value for key, value in meta.get("labels", {}).items() if "batch.kubernetes.io" not in key}
    meta = {**meta, "name": name, "namespace": _APART, "labels": labels}
    return {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], "metadata": meta, "spec": manifest["spec"]}


def _spec(job: Manifest) -> dict[str, Any]:
    template: dict[str, Any] = job["spec"]["template"]
    fresh = {"spec": template["spec"]}
    return {**{key: value for key, value in job["spec"].items() if key != "selector"}, "template": fresh}


def _event(name: str) -> dict[str, Any]:
    involved = {"apiVersion": "batch/v1", "kind": "Job", "namespace": _APART, "name": name}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": _APART},
        "involvedObject": involved,
        "reason": "QuotaReserved",
        "message": "Quota reserved in ClusterQueue team, wait time since queued was 12s",
        "type": "Normal",
        "source": {"component": "quotree"},
    }
