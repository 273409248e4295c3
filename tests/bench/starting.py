"""`python -m tests.bench.starting FILE`: the process of the engine's start from manifests.

FILE has a manifest in each line, as JSON; `write` writes such a file.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from policies.dialects.kueue_flavor import read_flavor
from scheduling.cycle.engine import AdmissionEngine
from scheduling.objects.queue_settings import read_cohort_settings, read_local_queue_settings, read_queue_settings
from scheduling.objects.reading import read_workload
from scheduling.objects.times import SECOND
from scheduling.world.world import World
from tests.bench.memory import peak_mib
from tests.bench.organisation import cluster_queues

Manifest = dict[str, Any]
_NOW = 1_800_000_000 * SECOND
_SHAPES = 20


def write(path: Path, queues: int, workloads: int) -> None:
    """Write so many ClusterQueues in Cohorts of 10, a LocalQueue for each, and workloads of 20 shapes, half running."""
    with path.open("w") as file:
        for manifest in manifests(queues, workloads):
            file.write(json.dumps(manifest) + "\n")


def manifests(queues: int, workloads: int) -> Iterator[Manifest]:
    """The manifests in the order in which `main` puts them, without apiVersion."""
    names = []
    for manifest in cluster_queues(queues, 10):
        yield manifest
        if manifest["kind"] == "ClusterQueue":
            names.append(manifest["metadata"]["name"])
    for name in names:
        yield {
            "kind": "LocalQueue",
            "metadata": {"namespace": "team", "name": name},
            "spec": {"clusterQueue": name},
        }
    for turn in range(workloads):
        yield workload(turn, names[turn % len(names)], runs=turn < workloads // 2)


def workload(turn: int, queue: str, *, runs: bool) -> Manifest:
    """A workload of one of 20 shapes. `turn`: its number."""
    amounts = {"cpu": "3", "memory": f"{1 + turn % _SHAPES}Gi"}
    container = {
        "name": "main",
        "image": "registry.example.com/team/train:1.0",
        "command": ["python", "train.py", "--epochs", "10"],
        "env": [{"name": f"SETTING_{at}", "value": str(at)} for at in range(5)],
        "resources": {"requests": amounts, "limits": amounts},
    }
    manifest: Manifest = {
        "kind": "Workload",
        "metadata": {
            "namespace": "team",
            "name": f"job-{turn}",
            "uid": f"00000000-0000-4000-8000-{turn:012}",
            "resourceVersion": str(turn),
            "generation": 1,
            "creationTimestamp": f"2026-01-01T{turn // 3600 % 24:02}:{turn // 60 % 60:02}:{turn % 60:02}Z",
            "labels": {"app": "train"},
        },
        "spec": {
            "queueName": queue,
            "active": True,
            "priority": 0,
            "podSets": [{"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}],
        },
    }
    if runs:
        manifest["status"] = _running(queue, amounts)
    return manifest


def _running(queue: str, amounts: dict[str, str]) -> Manifest:
    flavors = dict.fromkeys(amounts, "on-demand")
    given = {"name": "main", "count": 1, "flavors": flavors, "resourceUsage": amounts}
    conditions = [
        {"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": "2026-01-02T00:00:00Z"}
        for kind in ("QuotaReserved", "Admitted", "PodsReady")
    ]
    return {"admission": {"clusterQueue": queue, "podSetAssignments": [given]}, "conditions": conditions}


def main() -> int:
    """Print the seconds until the world is ready and of the first cycle, its decisions, and peak MiB."""
    started = time.perf_counter()
    world = World()
    world.put_namespace("team", {})
    put: dict[str, Callable[[Manifest], None]] = {
        "ResourceFlavor": lambda manifest: world.put_flavor(read_flavor(manifest)),
        "Cohort": lambda manifest: world.put_cohort(read_cohort_settings(manifest), _NOW),
        "ClusterQueue": lambda manifest: world.put_queue(read_queue_settings(manifest), _NOW),
        "LocalQueue": lambda manifest: world.put_local_queue(read_local_queue_settings(manifest), _NOW),
        "Workload": lambda manifest: world.put_workload(read_workload(manifest), _NOW),
    }
    with Path(sys.argv[1]).open() as file:
        for line in file:
            manifest = json.loads(line)
            put[manifest["kind"]](manifest)
    ready = time.perf_counter()
    decided = len(AdmissionEngine(world).step(_NOW))
    peak = peak_mib(os.getpid())
    ended = time.perf_counter()
    print(json.dumps({"ready": ready - started, "cycle": ended - ready, "decided": decided, "peak": peak}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
