"""What the ledger adds to an edit: edits through a real API server, one after the other, with it and without."""

from __future__ import annotations

import time
import urllib.request
from statistics import median

from cluster.client import MERGE_PATCH, ClusterClient
from tests.apiserver.harness import ControlPlane
from tests.apiserver.race.replicas import Replicas
from tests.apiserver.race.shapes import QUEUES
from tests.builders import queue

EDITS = 400
QUEUE_COUNT = 20
_PARTS = ("sum", "count")
_CONFIGURATION = "apiVersion: config.quotree.dev/v1alpha1\nkind: Configuration\nledger: {}\n"


def rows() -> None:
    print(f"\n{'edits of queues, ms':28} {'p50':>8} {'p99':>8} {'webhook':>8} {'writes an edit':>15}")
    for switch in ("off", "on"):
        with ControlPlane() as control_plane, Replicas(control_plane, 1, _CONFIGURATION.format(switch)) as replicas:
            _row(f"ledger: {switch}", control_plane, replicas)


def _row(name: str, control_plane: ControlPlane, replicas: Replicas) -> None:
    with ClusterClient.connect(kubeconfig=str(control_plane.kubeconfig)) as cluster:
        for number in range(QUEUE_COUNT):
            cluster.create(QUEUES, queue(f"q{number}", deserved="cpu:1"))
        _edits(cluster, QUEUE_COUNT)  # warm
        time.sleep(1.0)
        before = _judging(replicas), _writes(control_plane)
        times = _edits(cluster, EDITS)
        seconds, requests = (after - was for after, was in zip(_judging(replicas), before[0], strict=True))
        writes = (_writes(control_plane) - before[1]) / EDITS
    p99 = sorted(times)[int(0.99 * len(times))]
    print(
        f"{name:28} {median(times) * 1e3:8.2f} {p99 * 1e3:8.2f} {seconds / requests * 1e3:8.2f} {writes:15.2f}",
        flush=True,
    )


def _edits(cluster: ClusterClient, count: int) -> list[float]:
    """The seconds of each; every edit changes what the queue deserves."""
    times = []
    for turn in range(count):
        name, cpu = f"q{turn % QUEUE_COUNT}", str(2 + turn // QUEUE_COUNT % 2)
        started = time.perf_counter()
        cluster.patch(f"{QUEUES}/{name}", {"spec": {"deserved": {"cpu": cpu}}}, MERGE_PATCH)
        times.append(time.perf_counter() - started)
    return times


def _judging(replicas: Replicas) -> tuple[float, float]:
    """Seconds that the validating webhook has taken so far, and for how many requests."""
    with urllib.request.urlopen(replicas.metrics_address(0), timeout=5) as answer:
        text = answer.read().decode()
    whole, count = (_sum(text, f"quotree_admission_duration_seconds_{what}", "validate/volcano") for what in _PARTS)
    return whole, count


def _writes(control_plane: ControlPlane) -> float:
    """How many writes of ConfigMaps the API server has answered."""
    text = control_plane.kubectl("get", "--raw", "/metrics").stdout
    return _sum(text, "apiserver_request_total", 'resource="configmaps"', 'verb="PATCH"')


def _sum(text: str, name: str, *labels: str) -> float:
    """Over all lines of a metric that have these labels."""
    lines = [line for line in text.splitlines() if line.startswith(name) and all(each in line for each in labels)]
    return sum(float(line.rpartition(" ")[2]) for line in lines)
