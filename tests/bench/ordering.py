"""The time that the ledger adds to an edit of a queue through a real API server, with one editor and with eight.

The floor is one write of a small ConfigMap: an entry cannot cost less, since the API server stores the ledger.
"""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import median

from cluster.client import MERGE_PATCH, ClusterClient
from cluster.resource import CONFIG_MAPS
from tests.apiserver.harness import ControlPlane
from tests.apiserver.race.replicas import Replicas
from tests.apiserver.race.shapes import QUEUES
from tests.builders import queue

EDITORS = 8
QUEUE_COUNT = 24
"""The number of queues: a multiple of EDITORS, so that each queue has one editor."""
EDITS = 16 * QUEUE_COUNT
_PARTS = ("sum", "count")
_CONFIGURATION = "apiVersion: config.quotree.dev/v1alpha1\nkind: Configuration\nledger: {}\n"
_FLOOR = CONFIG_MAPS.item("bench", "default")


def rows() -> None:
    """Print the rows. `review`: milliseconds of a review; `/s`: edits a second by EDITORS at once."""
    together = f"{EDITORS} editors, /s"
    print(f"\n{'edits of queues, ms':28} {'p50':>8} {'p99':>8} {'review':>8} {'writes an edit':>15} {together:>15}")
    for switch in ("off", "on"):
        with ControlPlane() as control_plane, Replicas(control_plane, 1, _CONFIGURATION.format(switch)) as replicas:
            _row(f"ledger: {switch}", control_plane, replicas)
    with ControlPlane() as control_plane, ClusterClient.connect(kubeconfig=str(control_plane.kubeconfig)) as cluster:
        cluster.create(CONFIG_MAPS.collection("default"), {"metadata": {"name": "bench"}})
        write = partial(_write, cluster)
        _repeated(write, range(QUEUE_COUNT))  # warm
        _print("a write of a ConfigMap", _repeated(write, range(QUEUE_COUNT, QUEUE_COUNT + EDITS)))


def _row(name: str, control_plane: ControlPlane, replicas: Replicas) -> None:
    kubeconfig = str(control_plane.kubeconfig)
    with ClusterClient.connect(kubeconfig=kubeconfig) as cluster:
        for number in range(QUEUE_COUNT):
            cluster.create(QUEUES, queue(f"q{number}", deserved="cpu:1"))
        _repeated(partial(_edit, cluster), range(QUEUE_COUNT))  # warm
        time.sleep(1.0)
        before = _judging(replicas), _writes(control_plane)
        times = _repeated(partial(_edit, cluster), range(QUEUE_COUNT, QUEUE_COUNT + EDITS))
        seconds, requests = (after - was for after, was in zip(_judging(replicas), before[0], strict=True))
        writes = (_writes(control_plane) - before[1]) / EDITS
    began = time.perf_counter()
    with ThreadPoolExecutor(EDITORS) as pool:
        list(pool.map(partial(_edit_own, kubeconfig), range(EDITORS)))
    together = EDITS / (time.perf_counter() - began)
    _print(name, times, f"{seconds / requests * 1e3:8.2f} {writes:15.2f} {together:15.0f}")


def _print(name: str, times: list[float], more: str = "") -> None:
    p99 = sorted(times)[int(0.99 * len(times))]
    print(f"{name:28} {median(times) * 1e3:8.2f} {p99 * 1e3:8.2f} {more}", flush=True)


def _edit_own(kubeconfig: str, editor: int) -> None:
    """Make the edits of one of EDITORS, over a new connection."""
    first = QUEUE_COUNT + EDITS
    with ClusterClient.connect(kubeconfig=kubeconfig) as cluster:
        _repeated(partial(_edit, cluster), range(first + editor, first + EDITS, EDITORS))


def _edit(cluster: ClusterClient, turn: int) -> None:
    """Change the `deserved` of a queue. The next turn edits the next queue; each round has another amount."""
    name, cpu = f"q{turn % QUEUE_COUNT}", str(2 + turn // QUEUE_COUNT % 2)
    cluster.patch(f"{QUEUES}/{name}", {"spec": {"deserved": {"cpu": cpu}}}, MERGE_PATCH)


def _write(cluster: ClusterClient, turn: int) -> None:
    cluster.patch(_FLOOR, {"data": {"turn": str(turn)}}, MERGE_PATCH)


def _repeated(act: Callable[[int], None], turns: range) -> list[float]:
    """The seconds of `act` in each turn."""
    times = []
    for turn in turns:
        started = time.perf_counter()
        act(turn)
        times.append(time.perf_counter() - started)
    return times


def _judging(replicas: Replicas) -> tuple[float, float]:
    """The seconds that the validating webhook has taken so far, and the number of its requests."""
    with urllib.request.urlopen(replicas.metrics_address(0), timeout=5) as answer:
        text = answer.read().decode()
    whole, count = (_sum(text, f"quotree_admission_duration_seconds_{what}", "validate/volcano") for what in _PARTS)
    return whole, count


def _writes(control_plane: ControlPlane) -> float:
    """The number of writes of ConfigMaps that the API server has answered."""
    text = control_plane.kubectl("get", "--raw", "/metrics").stdout
    return _sum(text, "apiserver_request_total", 'resource="configmaps"', 'verb="PATCH"')


def _sum(text: str, name: str, *labels: str) -> float:
    """The sum of all samples of a metric that have these labels."""
    lines = [line for line in text.splitlines() if line.startswith(name) and all(each in line for each in labels)]
    return sum(float(line.rpartition(" ")[2]) for line in lines)
