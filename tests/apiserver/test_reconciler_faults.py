"""A reconciler that is killed again and again behind a line that fails, under random load, on a real API server.

Quota is never given twice, and when the faults are over nobody is forgotten. `SOAK_SECONDS` says how long the load
lasts (`make soak`: half an hour).
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from cluster.client import MERGE_PATCH, Cluster
from cluster.endpoint import from_kubeconfig
from cluster.errors import Conflict, NotFound
from scheduling.objects.reading import read_workload
from scheduling.objects.times import SECOND
from scheduling.objects.workload import Workload
from scheduling.status.deadlines import release
from scheduling.status.progress import finish
from scheduling.status.writing import written_status
from tests.apiserver.fault_proxy import FaultProxy
from tests.apiserver.harness import ControlPlane
from tests.apiserver.kueue_world import KUEUE, install, kueue, queue, workload
from tests.apiserver.watch_history import KINDS, History
from tests.reconciler.recount import Tree, asked, holds, holds_quota, node, used

SOAK_SECONDS = float(os.environ.get("SOAK_SECONDS", "25"))
CALM_SECONDS = 90.0
LAG_SECONDS = 12.0
"""How long a quota that was taken back may still be given: the longest hang of a watch, and until it is resumed."""
FAULTS = 0.12
BEGINNING = 1.0
"""Seconds within which a process is still beginning, as a rule."""
LEADS = b"is held"
"""What the log says then."""
QUEUES = ("storm-a", "storm-b", "storm-c", "storm-d")
COHORTS = {"storm-left": "storm-top", "storm-right": "storm-top", "storm-top": ""}
MOST_WAITING = 20
ROOT = Path(__file__).parents[2]


class Killed:
    """The reconciler as a process that dies at any moment and is started again."""

    def __init__(self, kubeconfig: Path, log: Path) -> None:
        self._kubeconfig = kubeconfig
        self.log = log
        self.starts = 0
        self._read = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.starts += 1
        self._read = self.log.stat().st_size if self.log.exists() else 0
        command = [sys.executable, "-m", "tests.apiserver.running", str(self._kubeconfig), f"storm-{self.starts}"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)

    def kill(self, number: int = signal.SIGKILL) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            process.wait(30)

    def again(self) -> None:
        self.kill()
        self.start()

    def leads(self) -> bool:
        """Whether the one that was started last has got as far as to hold the Lease."""
        return LEADS in self.log.read_bytes()[self._read :]


class Load:
    """People and jobs, straight at the API server, drawn from a seed."""

    def __init__(self, cluster: Cluster, namespace: str, seed: int) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.chance = random.Random(seed)
        self.made = 0

    def prepare(self) -> None:
        self.cluster.create(f"{KUEUE}/resourceflavors", kueue("ResourceFlavor", "plain", {}))
        for name, parent in COHORTS.items():
            self.cluster.create(f"{KUEUE}/cohorts", kueue("Cohort", name, {"parentName": parent} if parent else {}))
        policy = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
        for index, name in enumerate(QUEUES):
            spec = queue("storm-left" if index < 2 else "storm-right", "4", preemption=policy)
            self.cluster.create(f"{KUEUE}/clusterqueues", kueue("ClusterQueue", name, spec))
            path = f"{KUEUE}/namespaces/{self.namespace}/localqueues"
            self.cluster.create(path, kueue("LocalQueue", name, {"clusterQueue": name}))

    def remove(self) -> None:
        for manifest in self.workloads():
            self._delete(manifest)
        objects = (("clusterqueues", QUEUES), ("cohorts", tuple(COHORTS)), ("resourceflavors", ("plain",)))
        for plural, names in objects:
            for name in names:
                with suppress(NotFound):
                    path = f"{KUEUE}/{plural}/{name}"
                    self.cluster.patch(path, {"metadata": {"finalizers": None}}, MERGE_PATCH)
                    self.cluster.delete(path)

    def act(self) -> None:
        actions: list[tuple[int, Callable[[], None]]] = [
            (10, self._submit),
            (8, self.jobs),
            (1, self._any_delete),
            (1, self._edit),
        ]
        weights = [weight for weight, _ in actions]
        with suppress(Conflict, NotFound):
            self.chance.choices([action for _, action in actions], weights)[0]()

    def jobs(self, finishing: float = 0.15) -> bool:
        """What job controllers do: victims stop, and some of what runs ends. Whether anybody had to stop."""
        stopped = False
        for manifest in self.workloads():
            with suppress(Conflict, NotFound):
                if holds_quota(manifest) and holds(manifest, "Evicted"):
                    self._rewrite(manifest, lambda each: release(each, _now()))
                    stopped = True
                elif holds(manifest, "Admitted") and self.chance.random() < finishing:
                    self._rewrite(manifest, lambda each: finish(each, "Succeeded", "done", _now()))
        return stopped

    def workloads(self) -> list[dict[str, Any]]:
        found = self.cluster.snapshot(KINDS["Workload"], lambda each: each, namespace=self.namespace)
        return list(found.items)

    def tree(self) -> Tree:
        kinds = ("ClusterQueue", "Cohort")
        nodes = [each for kind in kinds for each in self.cluster.snapshot(KINDS[kind], node).items]
        return Tree({each.name: each for each in nodes if each.name in (*QUEUES, *COHORTS)})

    def wrong_at_rest(self) -> list[str]:
        """What should not be once all is quiet; empty where nothing is."""
        found, workloads, tree = [], self.workloads(), self.tree()
        before = used(workloads)
        for manifest in workloads:
            name, place = manifest["metadata"]["name"], manifest["spec"]["queueName"]
            if holds(manifest, "Finished"):
                continue
            if holds_quota(manifest):
                if holds(manifest, "Evicted") or not holds(manifest, "Admitted"):
                    found.append(f"{name} holds quota and is not admitted")
            elif not tree.overdrawn(before, {**before, place: before.get(place, 0) + asked(manifest)}):
                found.append(f"{name} waits though it fits")
        return found

    def _submit(self) -> None:
        """Some more; of those that are too many some are given up, since not all of them ever fit."""
        there = self.workloads()
        for manifest in there:
            if holds(manifest, "Finished"):
                self._delete(manifest)
        waiting = [each for each in there if not holds(each, "Finished") and not holds_quota(each)]
        for manifest in self.chance.sample(waiting, max(0, len(waiting) - MOST_WAITING)):
            self._delete(manifest)
        for _ in range(self.chance.randint(1, 3)):
            self.made += 1
            cpus, priority = str(self.chance.randint(1, 5)), self.chance.choice((0, 0, 0, 100))
            made = workload(f"w{self.made}", cpus, priority, self.chance.choice(QUEUES))
            self.cluster.create(f"{KUEUE}/namespaces/{self.namespace}/workloads", made)

    def _any_delete(self) -> None:
        found = self.workloads()
        if found:
            self._delete(self.chance.choice(found))

    def _delete(self, manifest: dict[str, Any]) -> None:
        with suppress(NotFound):
            if manifest["metadata"].get("finalizers"):
                self.cluster.patch(self._path(manifest), {"metadata": {"finalizers": None}}, MERGE_PATCH)
            self.cluster.delete(self._path(manifest))

    def _edit(self) -> None:
        if self.chance.random() < 0.2:
            cohort = self.chance.choice(("storm-left", "storm-right"))
            spec = {"parentName": self.chance.choice(("storm-top", None))}
            self.cluster.patch(f"{KUEUE}/cohorts/{cohort}", {"spec": spec}, MERGE_PATCH)
            return
        name = self.chance.choice(QUEUES)
        path = f"{KUEUE}/clusterqueues/{name}"
        spec = self.cluster.get(path)["spec"]
        quota = spec["resourceGroups"][0]["flavors"][0]["resources"][0]
        quota["nominalQuota"] = str(self.chance.randint(3, 6))
        quota["borrowingLimit"] = str(self.chance.randint(0, 6))
        self.cluster.patch(path, {"spec": {"resourceGroups": spec["resourceGroups"]}}, MERGE_PATCH)

    def _rewrite(self, manifest: dict[str, Any], change: Callable[[Workload], Workload]) -> None:
        meta = {"resourceVersion": manifest["metadata"]["resourceVersion"]}
        status = written_status(change(read_workload(manifest)))
        gone = {key: None for key in manifest.get("status", {}) if key not in status}
        self.cluster.patch(f"{self._path(manifest)}/status", {"metadata": meta, "status": status | gone}, MERGE_PATCH)

    def _path(self, manifest: dict[str, Any]) -> str:
        return f"{KUEUE}/namespaces/{self.namespace}/workloads/{manifest['metadata']['name']}"


def _now() -> int:
    return time.time_ns() // SECOND * SECOND


@pytest.fixture
def direct(control_plane: ControlPlane) -> Iterator[Cluster]:
    """The API server without faults."""
    install(control_plane)
    with Cluster(from_kubeconfig(None, str(control_plane.kubeconfig))) as cluster:
        yield cluster


@pytest.mark.timeout(SOAK_SECONDS + CALM_SECONDS + 180)
def test_quota_is_never_given_twice_and_nobody_is_forgotten(
    control_plane: ControlPlane, direct: Cluster, namespace: str, tmp_path: Path
) -> None:
    seed = int(os.environ.get("SOAK_SEED", "1"))
    load, history = Load(direct, namespace, seed), History(direct)
    load.prepare()
    history.start()
    with FaultProxy(control_plane.kubeconfig, FAULTS, seed) as proxy:
        reconciler = Killed(proxy.kubeconfig(tmp_path / "kubeconfig"), tmp_path / "log")
        try:
            storm(load, reconciler, SOAK_SECONDS)
            proxy.faults = 0.0
            reconciler.again()
            wrong = rest(load)
        finally:
            reconciler.kill(signal.SIGTERM)
            history.stop()
            load.remove()
    print(f"{history.admissions()} admitted, {reconciler.starts} starts, faults: {proxy.injected}")

    assert not history.over_admissions(LAG_SECONDS)
    assert not wrong, f"{wrong}; the log ends: {reconciler.log.read_text()[-3000:]}"
    assert history.admissions() > SOAK_SECONDS / 5, "next to nothing was admitted, so nothing was tried"
    assert sum(proxy.injected.values()) > SOAK_SECONDS / 5, f"hardly a fault was injected: {proxy.injected}"


def storm(load: Load, reconciler: Killed, seconds: float) -> None:
    """Load, and a kill every few seconds: mostly of one that writes, sometimes of one that just begins."""
    reconciler.start()
    began, led, life = time.monotonic(), False, 3.0
    ends = began + seconds
    while time.monotonic() < ends:
        load.act()
        time.sleep(0.03)
        if not led and reconciler.leads():
            began, led = time.monotonic(), True
        if time.monotonic() > began + life and (led or life < BEGINNING):
            reconciler.again()
            began, led = time.monotonic(), False
            life = load.chance.uniform(0.0, BEGINNING if load.chance.random() < 0.2 else 8.0)


def rest(load: Load) -> list[str]:
    """Victims stop until nothing is wrong, twice in a row; what is still wrong in the end."""
    ends = time.monotonic() + CALM_SECONDS
    quiet = 0
    while quiet < 2:
        stopped = load.jobs(finishing=0.0)
        wrong = load.wrong_at_rest()
        quiet = 0 if stopped or wrong else quiet + 1
        if time.monotonic() > ends:
            return wrong or ["victims never cease to be evicted"]
        time.sleep(0.5)
    return []
