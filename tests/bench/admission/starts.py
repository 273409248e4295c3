"""Starts of the reconciler with growing numbers of ClusterQueues, from the exec of the process on.

The first start finds no status and writes each; the restart finds all of them written, and one pending Workload.
Each is compared with its floor, a process that lists the same and writes as many statuses without a decision. `times`
is the ratio of the two.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cluster.client import ClusterClient
from cluster.endpoint import from_kubeconfig
from cluster.reflector import ChangeKind, Reflector
from cluster.resource import Manifest, Resource
from policies.dialects.kueue_kinds import GROUP
from reconciler.configured import DEFAULTS, read_configured
from reconciler.objects.patches import WORKLOADS
from reconciler.process import Reconciler
from tests.apiserver.harness import ControlPlane
from tests.apiserver.kueue_world import KUEUE, install
from tests.bench import memory, starting
from tests.bench.admission import filled, gauges, start_floor
from tests.bench.admission.lines import Line
from tests.bench.admission.process import Process, reconciling
from tests.bench.organisation import FLAVORS

_CLUSTER_QUEUES = Resource(GROUP, "v1beta2", "clusterqueues", namespaced=False)
_STATUSES = ("clusterqueues/status", "localqueues/status", "cohorts/status")
_SETTLE = 3.0
"""A start is over after so many seconds without a write."""


class Shown:
    """A context manager that watches a kind for a condition.

    `names`: the objects for which it was true; `last`: when the last of them was added.
    """

    def __init__(self, kubeconfig: Path, resource: Resource, condition: str) -> None:
        self.names: set[str] = set()
        self.last = 0.0
        self._condition = condition
        self._cluster = ClusterClient(from_kubeconfig(None, str(kubeconfig)))
        self._reflector: Reflector[tuple[str, bool]] = Reflector(
            self._cluster, resource, self._see, on_replace=lambda *_: None, keep=self._shown
        )

    def __enter__(self) -> Self:
        self._reflector.start()
        self._reflector.synced.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._reflector.stop()
        self._cluster.close()

    def _shown(self, manifest: Manifest) -> tuple[str, bool]:
        conditions = manifest.get("status", {}).get("conditions", ())
        held = any(each["type"] == self._condition and each["status"] == "True" for each in conditions)
        return manifest["metadata"]["name"], held

    def _see(self, kind: ChangeKind, item: tuple[str, bool], version: str) -> None:
        del kind, version
        name, held = item
        if held and name not in self.names:
            self.names.add(name)
            self.last = time.monotonic()


@dataclass(frozen=True, slots=True)
class Start:
    """Wall seconds from the exec on, processor seconds of the process until then, and peak MiB."""

    seconds: float
    cpu: float
    peak: float


def rows(counts: tuple[int, ...] = (10, 1_000, 10_000)) -> None:
    """Two rows for each number of ClusterQueues, each with a LocalQueue and in Cohorts of ten: a first start until all
    are Active, and a restart until the first admission.
    """
    print(f"\n{'':30} {'ours':>25} {'floor':>16}")
    print(
        f"{'start of the process':30} {'s':>9} {'cpu s':>8} {'MiB':>6} {'s':>9} {'cpu s':>6} {'times':>6}"
        f" {'writes of a status':>19}"
    )
    for count in counts:
        _row(count)


def _row(count: int) -> None:
    with ControlPlane() as server:
        install(server)
        login = server.kubeconfig  # each access writes the file again
        server.kubectl("create", "namespace", "team")
        stored = filled.fill(server.etcd_url, starting.manifests(count, 0))
        filled.until_calm(server)
        first, writes = _first(login, count)
        with Line(login) as line:
            line.create(f"{KUEUE}/namespaces/team/workloads", _waiting())
        again = _again(login)
        paths = _listed(login)
        admits = start_floor.seconds(login, paths, WORKLOADS.collection())
        activates = start_floor.seconds(login, paths, _CLUSTER_QUEUES.collection())
    each = writes / (stored - len(FLAVORS))
    print(f"{f'{count} ClusterQueues':30} {_compared(first, activates)} {each:19.2f}", flush=True)
    print(f"{'  restart, one Workload waits':30} {_compared(again, admits)}", flush=True)


def _compared(ours: Start, floor: tuple[float, float]) -> str:
    seconds, cpu = floor
    return (
        f"{ours.seconds:9.2f} {ours.cpu:8.2f} {ours.peak:6.0f} {seconds:9.2f} {cpu:6.2f} {ours.seconds / seconds:6.2f}"
    )


def _listed(login: Path) -> list[str]:
    """The collections that the reconciler lists."""
    with ClusterClient(from_kubeconfig(None, str(login))) as cluster:
        watched = Reconciler(cluster, read_configured(DEFAULTS).settings).core.informer.watched
        return [each.resource.collection() for each in watched.values()]


def _first(login: Path, count: int) -> tuple[Start, int]:
    with Line(login) as line, Shown(login, _CLUSTER_QUEUES, "Active") as shown:
        before = _statuses(line)
        began = time.monotonic()
        with reconciling(login) as running:
            running.until(lambda: len(shown.names) == count, lambda: f"{len(shown.names)} of {count} to be Active")
            start = _measured(running, shown.last - began)
            _until_still(line)
            return start, _statuses(line) - before


def _statuses(line: Line) -> int:
    """The number of status writes so far, including conflicts."""
    return sum(count for (verb, kind), count in gauges.requests(line).items() if verb == "PATCH" and kind in _STATUSES)


def _until_still(line: Line) -> None:
    before = -1
    while (now := _statuses(line)) != before:
        before = now
        time.sleep(_SETTLE)


def _waiting() -> Manifest:
    manifest = starting.workload(0, "cq-0-0", runs=False)
    meta = {key: manifest["metadata"][key] for key in ("name", "labels")}
    return {"apiVersion": f"{GROUP}/v1beta2", **manifest, "metadata": meta}


def _again(login: Path) -> Start:
    with Shown(login, WORKLOADS, "Admitted") as shown:
        began = time.monotonic()
        with reconciling(login) as running:
            running.until(lambda: bool(shown.names), lambda: "the first admission")
            return _measured(running, shown.last - began)


def _measured(running: Process, seconds: float) -> Start:
    return Start(seconds, gauges.cpu_seconds(running.pid), memory.peak_mib(running.pid))


if __name__ == "__main__":
    rows(tuple(map(int, sys.argv[1:])))
