"""`python -m tests.bench --only one_job`: a single Job on an idle system, from its creation to its start.

The floor is a writer that decides nothing. For each Job it sends the reconciler's requests until the Job starts, one
after the other: it creates the Workload, applies the status with the admission, and unsuspends the Job.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from cluster.client import APPLY_PATCH, ClusterClient
from cluster.endpoint import from_kubeconfig
from cluster.resource import JOBS
from reconciler.objects.patches import ADMISSION_MANAGER
from tests.apiserver.harness import ControlPlane
from tests.apiserver.kueue_world import KUEUE, install
from tests.bench.admission import gauges, offered
from tests.bench.admission.floor import admission
from tests.bench.admission.lines import MERGE, Line, make
from tests.bench.admission.process import QUOTREE, reconciling
from tests.builders import kueue

_NAMESPACE = "team"
"""Not the namespace of the Lease: jobs in the reconciler's own namespace are not managed."""
_PATH = JOBS.collection(_NAMESPACE)
_WORKLOADS = f"{KUEUE}/namespaces/{_NAMESPACE}/workloads"
_QUEUES = 30
_COUNT = 200
_FIRST = 20
"""The number of Jobs before the first measured one."""
_PAUSE = 0.15
"""Seconds between two Jobs, for the statuses and Events of the previous one."""
_LONG = 300
"""Seconds of a watch request."""


def rows(program: Sequence[str] = (QUOTREE,)) -> None:
    """Print the rows. `program`: the command that is run instead of `quotree`."""
    print(f"\n{'one Job on an idle system, ms':44} {'p50':>6} {'p99':>6} {'cpu each':>9}")
    with _world() as server:
        _print("a blind writer", _waits_of_floor(server), "")
    with _world() as server, reconciling(server.kubeconfig, program) as running:
        running.until(running.working, lambda: "it to be ready")
        _jobs(server, [f"warm{number}" for number in range(_FIRST)])
        before = gauges.cpu_seconds(running.pid)
        waits = _jobs(server, [f"j{number}" for number in range(_COUNT)])
        cpu = gauges.cpu_seconds(running.pid) - before
        _print("from its creation to its start", waits, f"{1000 * cpu / _COUNT:9.2f}")


@contextmanager
def _world() -> Iterator[ControlPlane]:
    """A control plane for one measurement: Workloads of another writer would use the quota."""
    with ControlPlane() as server:
        install(server)
        server.kubectl("create", "namespace", _NAMESPACE)
        queues = [f"q{number}" for number in range(_QUEUES)]
        make(server.kubeconfig, offered.that_fit(_QUEUES, _COUNT + _FIRST, waiting=False).nodes)
        make(server.kubeconfig, [kueue("LocalQueue", q, {"clusterQueue": q}, namespace=_NAMESPACE) for q in queues])
        yield server


def _print(title: str, waits: list[float], more: str) -> None:
    waits.sort()
    print(
        f"{title:44} {1000 * waits[len(waits) // 2]:6.1f} {1000 * waits[len(waits) * 99 // 100]:6.1f} {more}",
        flush=True,
    )


def _jobs(server: ControlPlane, names: Sequence[str]) -> list[float]:
    """Create Jobs one after the other. Returns the seconds until each was started."""
    waits = []
    with ClusterClient(from_kubeconfig(None, str(server.kubeconfig))) as cluster, Line(server.kubeconfig) as line:
        version = cluster.get(_PATH, {"limit": "1"})["metadata"]["resourceVersion"]
        with cluster.watch(JOBS, version, namespace=_NAMESPACE, seconds=_LONG) as watch:
            seen = iter(watch)
            for number, name in enumerate(names):
                time.sleep(_PAUSE)
                began = time.monotonic()
                line.create(_PATH, _manifest(name, f"q{number % _QUEUES}"))
                next(each for each in seen if _started(each.manifest) == name)
                waits.append(time.monotonic() - began)
    return waits


def _waits_of_floor(server: ControlPlane) -> list[float]:
    with ProcessPoolExecutor(1) as pool:  # like the reconciler, alone in its process
        version = json.loads(_sent(server.kubeconfig, "GET", _PATH))["metadata"]["resourceVersion"]
        blind = pool.submit(_start_blindly, server.kubeconfig, version, _FIRST + _COUNT)
        _jobs(server, [f"blind-warm{number}" for number in range(_FIRST)])
        waits = _jobs(server, [f"blind{number}" for number in range(_COUNT)])
        blind.result()
    return waits


def _start_blindly(kubeconfig: Path, version: str, count: int) -> None:
    """Start so many Jobs. Raises RuntimeError if the API server refuses a write."""
    applied, spec = admission(), offered.that_fit(1, 1, waiting=True).jobs[0].manifest["spec"]
    with (
        ClusterClient(from_kubeconfig(None, str(kubeconfig))) as cluster,
        Line(kubeconfig) as line,
        cluster.watch(JOBS, version, namespace=_NAMESPACE, seconds=_LONG) as watch,
    ):
        created = (each.manifest["metadata"]["name"] for each in watch if each.kind == "ADDED")
        for name in islice(created, count):
            workload = kueue("Workload", name, spec, namespace=_NAMESPACE)
            made = json.loads(_sent_by(line, "POST", _WORKLOADS, workload))["metadata"]
            bound = {key: made[key] for key in ("name", "resourceVersion", "uid")}
            path = f"{_WORKLOADS}/{name}/status?fieldManager={ADMISSION_MANAGER}&force=true"
            _sent_by(line, "PATCH", path, {**applied, "metadata": bound}, APPLY_PATCH)
            _sent_by(line, "PATCH", f"{_PATH}/{name}", {"spec": {"suspend": False}}, MERGE)


def _sent(kubeconfig: Path, method: str, path: str) -> bytes:
    with Line(kubeconfig) as line:
        return _sent_by(line, method, path)


def _sent_by(line: Line, method: str, path: str, body: Any = None, kind: str = "application/json") -> bytes:
    status, answer = line.send(method, path, body, kind)
    if status not in (200, 201):
        raise RuntimeError(f"{method} {path}: {status}: {answer[:300]!r}")
    return answer


def _started(job: dict[str, Any]) -> str:
    """The name of a Job; empty if it is suspended."""
    return "" if job.get("spec", {}).get("suspend", True) else str(job["metadata"]["name"])


def _manifest(name: str, queue: str) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {"suspend": True, "template": {"spec": {"containers": [container], "restartPolicy": "Never"}}},
    }
