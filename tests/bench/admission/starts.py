"""Starts of the reconciler over more and more ClusterQueues, from the exec of the process on.

The first start finds no status at all and writes each; the restart finds them all written, and one Workload that waits.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cluster.client import Cluster
from cluster.endpoint import from_kubeconfig
from cluster.reflector import ChangeKind, Reflector
from cluster.resource import Resource
from cluster.stream import Manifest
from policies.dialects.kueue_kinds import GROUP
from reconciler.objects.patches import WORKLOADS
from tests.apiserver.harness import ControlPlane
from tests.apiserver.kueue_world import KUEUE, install
from tests.bench import memory, starting
from tests.bench.admission import filled, gauges
from tests.bench.admission.lines import Line
from tests.bench.admission.process import Process, reconciling
from tests.bench.organisation import FLAVORS

_CLUSTER_QUEUES = Resource(GROUP, "v1beta2", "clusterqueues", namespaced=False)
_STATUSES = ("clusterqueues/status", "localqueues/status", "cohorts/status")
_SETTLE = 3.0
"""Seconds without a write after which a start is over."""


class Shown:
    """Follows a kind, as a context manager: which of its objects show that a condition holds, and since when."""

    def __init__(self, kubeconfig: Path, resource: Resource, condition: str) -> None:
        self.names: set[str] = set()
        self.last = 0.0
        self._condition = condition
        self._cluster = Cluster(from_kubeconfig(None, str(kubeconfig)))
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
    """Wall seconds from the exec on, processor seconds of the process by then, peak MiB."""

    seconds: float
    cpu: float
    peak: float


def rows(counts: tuple[int, ...] = (10, 1_000, 10_000)) -> None:
    """A row for each number of ClusterQueues, each with a LocalQueue and in Cohorts of ten."""
    print(
        f"\n{'start of the process':30} {'all Active: s':>14} {'cpu s':>6} {'MiB':>5} {'writes of a status':>19}"
        f" {'restart, first admission: s':>28} {'cpu s':>6}"
    )
    for count in counts:
        _row(count)


def _row(count: int) -> None:
    with ControlPlane() as server:
        install(server)
        login = server.kubeconfig  # each look writes the file anew
        server.kubectl("create", "namespace", "team")
        stored = filled.fill(server.etcd_url, starting.manifests(count, 0))
        filled.until_calm(server)
        first, writes = _first(login, count)
        with Line(login) as line:
            line.create(f"{KUEUE}/namespaces/team/workloads", _waiting())
        again = _again(login)
    objects = stored - len(FLAVORS)
    print(
        f"{f'{count} ClusterQueues':30} {first.seconds:14.1f} {first.cpu:6.2f} {first.peak:5.0f}"
        f" {writes / objects:19.2f} {again.seconds:28.2f} {again.cpu:6.2f}",
        flush=True,
    )


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
    """Writes of statuses so far, which conflicts are among."""
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
