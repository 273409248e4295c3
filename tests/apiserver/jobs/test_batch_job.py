"""The steps of a batch Job on a real API server, with Kubernetes' own Job controller."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from cluster.apply import perform
from cluster.client import ClusterClient
from cluster.endpoint import from_kubeconfig
from cluster.errors import Conflict, NotFound
from cluster.resource import JOBS
from reconciler.jobs.batch_job import BATCH
from reconciler.jobs.composed import workload_key
from reconciler.jobs.life import steps
from reconciler.objects.patches import ADMISSION_MANAGER, WORKLOADS, status_patch
from scheduling.objects.reading import read_workload
from scheduling.objects.times import SECOND
from scheduling.objects.workload import Admission, PodSetAdmission, Workload
from scheduling.status.eviction import preempt
from scheduling.status.reservation import reserve, sync_admitted
from tests.apiserver import build
from tests.apiserver.harness import ControlPlane
from tests.apiserver.kueue_world import install
from tests.reconciler.jobs.world import AROUND, K

WAIT_SECONDS = 60.0
CONTAINER = {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}


class Play:
    """One Job in the namespace default; its steps are performed until a condition is true."""

    def __init__(self, server: ControlPlane, cluster: ClusterClient, name: str) -> None:
        self.server, self.cluster, self.name = server, cluster, name
        self.inputs = AROUND

    @property
    def job(self) -> dict[str, Any]:
        return self.cluster.get(JOBS.item(self.name, "default"))

    @property
    def stored(self) -> dict[str, Any] | None:
        try:
            return self.cluster.get(WORKLOADS.item(workload_key(BATCH, self.job).partition("/")[2], "default"))
        except NotFound:
            return None

    @property
    def read(self) -> Workload:
        assert self.stored is not None
        return read_workload(self.stored)

    def submit(self, notes: dict[str, str], **spec: Any) -> None:
        meta = {"name": self.name, "labels": {f"{K}queue-name": "q"}, "annotations": notes}
        template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}
        body = {"metadata": meta, "spec": {"suspend": True, "template": template, **spec}}
        self.cluster.create(JOBS.collection("default"), {"apiVersion": "batch/v1", "kind": "Job", **body})

    def edit(self, patch: dict[str, Any]) -> None:
        """What a user changes."""
        path = JOBS.item(self.name, "default")
        self.server.request("PATCH", path, patch, content_type="application/merge-patch+json")

    def until(self, holds: Callable[[], object]) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not holds():
            assert time.monotonic() < deadline, f"it did not happen: {self.job} {self.stored}"
            if not self.step():
                time.sleep(0.05)

    def step(self) -> int:
        """Take the steps that are due; how many there were."""
        stored = self.stored
        found = steps(BATCH, self.job, stored, read_workload(stored) if stored else None, self.inputs, now())
        for each in found:
            assert each.action is not None
            try:
                perform(self.cluster, each.action)
            except Conflict:
                continue  # the Job controller was faster
        return len(found)

    def decide(self, decision: Callable[[Workload], Workload]) -> None:
        action = status_patch(self.read, decision(self.read), ADMISSION_MANAGER)
        assert action is not None
        perform(self.cluster, action)

    def admit(self, count: int) -> None:
        admission = Admission("cq", (PodSetAdmission("main", {"cpu": "spot"}, {"cpu": 1000 * count}, count),))
        self.decide(lambda read: sync_admitted(reserve(read, admission, now()), now()))

    def pods(self) -> list[dict[str, Any]]:
        path = f"/api/v1/namespaces/default/pods?labelSelector=job-name%3D{self.name}"
        found: list[dict[str, Any]] = self.server.request("GET", path)["items"]
        return found

    def succeed(self) -> None:
        """Write the status that a kubelet would write of its Pods."""
        for pod in self.pods():
            path = f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}/status"
            body = {"status": {"phase": "Succeeded"}}
            self.server.request("PATCH", path, body, content_type="application/merge-patch+json")


def now() -> int:
    return time.time_ns() // SECOND * SECOND


@pytest.fixture(scope="module")
def play(programs: build.Programs) -> Iterator[Callable[[str], Play]]:
    with ControlPlane(controller_manager=True) as server:
        install(server)
        with ClusterClient(from_kubeconfig(None, str(server.kubeconfig))) as cluster:
            yield lambda name: Play(server, cluster, name)


def test_a_job_is_admitted_preempted_admitted_again_and_finished(play: Callable[[str], Play]) -> None:
    job = play("j")
    job.submit({f"{K}job-min-parallelism": "1"}, parallelism=3, completions=3)
    template = job.job["spec"]["template"]
    job.until(lambda: job.stored)

    job.admit(count=2)
    job.until(lambda: len(job.pods()) == 2)
    (spec, *_) = [pod["spec"] for pod in job.pods()]
    assert spec["nodeSelector"] == {"tier": "spot"}
    assert {"key": "spot", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60} in spec["tolerations"]
    assert job.pods()[0]["metadata"]["labels"][f"{K}podset"] == "main"

    job.decide(lambda read: preempt(read, "InClusterQueue", "Preempted", now()))
    job.until(lambda: not job.read.reserved)
    assert job.pods() == []
    assert job.job["spec"]["template"] == template
    assert job.job["spec"]["parallelism"] == 3

    job.admit(count=3)
    job.until(lambda: len(job.pods()) == 3)
    job.succeed()
    job.until(lambda: job.read.finished)
    assert job.read.conditions["Finished"].reason == "Succeeded"
    job.until(lambda: job.step() == 0)
    assert job.stored is not None
    assert "finalizers" not in job.stored["metadata"]


def test_an_elastic_job_created_without_the_webhook_gets_its_gate_at_each_start(
    play: Callable[[str], Play],
) -> None:
    job, gate = play("e"), f"{K}elastic-job"
    job.inputs = replace(AROUND, elastic=True)
    job.submit({gate: "true"}, parallelism=1, completions=3)
    job.until(lambda: job.stored)

    for _ in range(2):
        job.admit(count=1)
        job.until(lambda: len(job.pods()) == 1)
        assert job.pods()[0]["spec"]["schedulingGates"] == [{"name": gate}]

        job.decide(lambda read: preempt(read, "InClusterQueue", "Preempted", now()))
        job.until(lambda: not job.read.reserved)
        assert job.pods() == []


def test_edits_of_a_job_reach_its_workload_and_deleting_that_stops_the_job(play: Callable[[str], Play]) -> None:
    job = play("k")
    job.submit({}, parallelism=2, completions=4)
    job.until(lambda: job.stored)

    job.edit({"metadata": {"labels": {f"{K}queue-name": "other", f"{K}priority-class": "low"}}})
    job.until(lambda: (job.read.queue, job.read.base) == ("other", 1))
    job.edit({"spec": {"parallelism": 3, "template": {"spec": {"nodeSelector": {"disk": "ssd"}}}}})
    job.until(lambda: job.read.pod_sets[0].count == 3)

    job.admit(count=3)
    job.until(lambda: len(job.pods()) == 3)
    job.edit({"metadata": {"labels": {f"{K}priority-class": "high"}}})
    job.until(lambda: job.read.base == 9)
    assert job.read.admitted
    uid = job.read.uid
    job.cluster.delete(WORKLOADS.item(job.read.name, "default"))
    job.until(lambda: job.stored is not None and job.read.uid != uid)
    assert job.pods() == []
    assert job.job["spec"]["template"]["spec"]["nodeSelector"] == {"disk": "ssd"}
    assert "annotations" not in job.job["metadata"]
