"""`python -m tests.bench --only one_job`: a single Job where nothing else goes on, from its creation to its start."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from cluster.client import ClusterClient
from cluster.endpoint import from_kubeconfig
from cluster.resource import JOBS
from tests.apiserver.harness import ControlPlane
from tests.apiserver.kueue_world import install
from tests.bench.admission import gauges, offered
from tests.bench.admission.lines import Line, make
from tests.bench.admission.process import QUOTREE, reconciling
from tests.builders import kueue

_NAMESPACE = "team"
"""Not that of the Lease: jobs beside the reconciler itself are not managed."""
_PATH = JOBS.collection(_NAMESPACE)
_QUEUES = 30
_COUNT = 200
_FIRST = 20
"""Jobs before the first that is measured."""
_PAUSE = 0.15
"""Seconds between two Jobs, in which statuses and Events of the last one are written."""
_LONG = 300
"""Seconds for which it is watched."""


def rows(program: Sequence[str] = (QUOTREE,)) -> None:
    """Print it. `program`: what is run in the place of `quotree`."""
    print(f"\n{'one Job where nothing else goes on, ms':44} {'p50':>6} {'p99':>6} {'cpu each':>9}")
    with ControlPlane() as server:
        install(server)
        server.kubectl("create", "namespace", _NAMESPACE)
        queues = [f"q{number}" for number in range(_QUEUES)]
        make(server.kubeconfig, offered.that_fit(_QUEUES, _COUNT + _FIRST, waiting=False).nodes)
        make(server.kubeconfig, [kueue("LocalQueue", q, {"clusterQueue": q}, namespace=_NAMESPACE) for q in queues])
        with reconciling(server.kubeconfig, program) as running:
            running.until(running.working, lambda: "it to be ready")
            _jobs(server, [f"warm{number}" for number in range(_FIRST)])
            before = gauges.cpu_seconds(running.pid)
            waits = _jobs(server, [f"j{number}" for number in range(_COUNT)])
            cpu = gauges.cpu_seconds(running.pid) - before
        _print("from its creation to its start", waits, f"{1000 * cpu / _COUNT:9.2f}")


def _print(title: str, waits: list[float], more: str) -> None:
    waits.sort()
    print(
        f"{title:44} {1000 * waits[len(waits) // 2]:6.1f} {1000 * waits[len(waits) * 99 // 100]:6.1f} {more}",
        flush=True,
    )


def _jobs(server: ControlPlane, names: Sequence[str]) -> list[float]:
    """The seconds until each was started; one after the other."""
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


def _started(job: dict[str, Any]) -> str:
    """Its name; empty for one that is suspended."""
    return "" if job.get("spec", {}).get("suspend", True) else str(job["metadata"]["name"])


def _manifest(name: str, queue: str) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {"suspend": True, "template": {"spec": {"containers": [container], "restartPolicy": "Never"}}},
    }
