"""How fast the API server takes admissions from a writer that decides nothing.

It sends the same requests as the reconciler: one apply of the status of each Workload, bound to its version, over as
many connections; and it watches the Workloads as well. The rate of the reconciler is compared with this.
"""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue

from cluster.actions import Apply
from cluster.client import APPLY_PATCH, ClusterClient
from cluster.endpoint import from_kubeconfig
from policies.dialects.kueue_flavor import read_flavor
from reconciler.objects.patches import ADMISSION_MANAGER, WORKLOADS, status_patch
from scheduling.cycle.engine import AdmissionEngine
from scheduling.cycle.outcome import reserved
from scheduling.objects.queue_settings import read_local_queue_settings, read_queue_settings
from scheduling.objects.reading import read_workload
from scheduling.objects.times import SECOND
from scheduling.world.decisions import Reserve
from scheduling.world.world import World
from tests.apiserver.kueue_world import KUEUE
from tests.bench.admission.lines import Line
from tests.bench.admission.offered import NAMESPACE, Manifest, that_fit
from tests.bench.admission.player import Creators

_THREADS = 8
"""The number of connections of the reconciler's writer."""
_APART = "floor"
"""The namespace of these Workloads; no LocalQueue is in it."""
_PATH = f"{KUEUE}/namespaces/{_APART}/workloads"


def writes_a_second(kubeconfig: Path, count: int) -> float:
    """Create so many Workloads and admit them without a decision; nothing else may write meanwhile."""
    with Line(kubeconfig) as line:
        line.create("/api/v1/namespaces", {"metadata": {"name": _APART}})
    jobs = that_fit(30, count, waiting=True).jobs
    Creators(kubeconfig, jobs, time.time() + 1.0, path=_PATH).done()
    with ProcessPoolExecutor(1) as pool:  # like the reconciler, alone in its process
        return count / pool.submit(_admit_all, kubeconfig, count).result()


def _admit_all(kubeconfig: Path, count: int) -> float:
    """The seconds that this takes. Raises RuntimeError if the API server refuses one."""
    with Line(kubeconfig) as line:
        stored = json.loads(line.send("GET", _PATH)[1])
    open_, failed = SimpleQueue[Manifest](), SimpleQueue[str]()
    for item in stored["items"]:
        open_.put(item["metadata"])
    assert open_.qsize() == count
    applied = admission()
    threads = [threading.Thread(target=_write, args=(kubeconfig, open_, applied, failed)) for _ in range(_THREADS)]
    with ClusterClient(from_kubeconfig(None, str(kubeconfig))) as cluster:
        watch = cluster.watch(WORKLOADS, stored["metadata"]["resourceVersion"], namespace=_APART, seconds=3600)
        seen = threading.Thread(target=lambda: [*watch])
        began = time.monotonic()
        for thread in (seen, *threads):
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic() - began
        watch.interrupt()
        seen.join()
        watch.close()
    if not failed.empty():
        raise RuntimeError(failed.get())
    return took


def _write(kubeconfig: Path, open_: SimpleQueue[Manifest], applied: Manifest, failed: SimpleQueue[str]) -> None:
    with Line(kubeconfig) as line:
        while True:
            try:
                meta = open_.get_nowait()
            except Empty:
                return
            bound = {key: meta[key] for key in ("name", "resourceVersion", "uid")}
            path = f"{_PATH}/{meta['name']}/status?fieldManager={ADMISSION_MANAGER}&force=true"
            answered, body = line.send("PATCH", path, {**applied, "metadata": bound}, APPLY_PATCH)
            if answered != 200:
                failed.put(f"{meta['name']}: {answered}: {body[:300]!r}")


def admission() -> Manifest:
    """The status that the reconciler applies when it admits one of the Workloads that fit."""
    offer, now = that_fit(1, 1, waiting=True), time.time_ns() // SECOND * SECOND
    world = World()
    world.put_namespace(NAMESPACE, {})
    for node in offer.nodes:
        match node["kind"]:
            case "ResourceFlavor":
                world.put_flavor(read_flavor(node))
            case "ClusterQueue":
                world.put_queue(read_queue_settings(node), now)
            case "LocalQueue":
                world.put_local_queue(read_local_queue_settings(node), now)
    manifest = offer.jobs[0].manifest
    before = read_workload({**manifest, "metadata": {**manifest["metadata"], "namespace": NAMESPACE}})
    world.put_workload(before, now)
    (decision,) = AdmissionEngine(world).step(now)
    assert isinstance(decision, Reserve)
    after = reserved(before, decision, world.state.queues[decision.queue].settings, now)
    patch = status_patch(before, after, ADMISSION_MANAGER)
    assert isinstance(patch, Apply)
    return dict(patch.applied)
