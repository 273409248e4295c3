"""The reconciler on a real API server: Workloads get quota, give it back, and say why they wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.client import Cluster
from cluster.endpoint import from_kubeconfig
from reconciler.process import Reconciler
from tests.apiserver.harness import ApiError, ControlPlane

CRDS = Path(__file__).parents[2] / "manifests" / "crds"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
WAIT_SECONDS = 30.0


@pytest.fixture(scope="module")
def server(control_plane: ControlPlane) -> ControlPlane:
    control_plane.kubectl("apply", "-k", str(CRDS))
    until(lambda: served(control_plane, f"{KUEUE}/workloads"))
    return control_plane


@pytest.fixture
def reconciler(server: ControlPlane) -> Iterator[Reconciler]:
    with Cluster(from_kubeconfig(None, str(server.kubeconfig))) as cluster:
        running = Reconciler(cluster)
        running.start()
        try:
            until(lambda: running.ready)
            yield running
            until(lambda: not going(server))
        finally:
            running.stop()


@pytest.fixture
def made(server: ControlPlane) -> Iterator[Callable[[str, dict[str, Any]], None]]:
    """Creates objects and takes away again what is in no namespace."""
    paths: list[str] = []

    def make(path: str, manifest: dict[str, Any]) -> None:
        server.request("POST", path, manifest)
        if "/namespaces/" not in path:
            paths.append(f"{path}/{manifest['metadata']['name']}")

    yield make
    for path in reversed(paths):
        server.request("DELETE", path)


def served(server: ControlPlane, path: str) -> bool:
    try:
        server.request("GET", path)
    except ApiError:
        return False
    return True


def going(server: ControlPlane) -> list[str]:
    """What was deleted and is still kept by a finalizer."""
    found = [
        item
        for kind in ("clusterqueues", "resourceflavors")
        for item in server.request("GET", f"{KUEUE}/{kind}")["items"]
    ]
    return [item["metadata"]["name"] for item in found if item["metadata"].get("deletionTimestamp")]


def until(holds: Callable[[], object]) -> None:
    """Wait until it holds."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)


def kueue(kind: str, name: str, spec: dict[str, Any], **meta: str) -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": {"name": name, **meta},
        "spec": spec,
    }


def queue(cohort: str, cpu: str, **spec: Any) -> dict[str, Any]:
    flavors = [{"name": "plain", "resources": [{"name": "cpu", "nominalQuota": cpu}]}]
    groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
    return {"cohortName": cohort, "namespaceSelector": {}, "resourceGroups": groups, **spec}


def workload(name: str, cpu: str, priority: int = 0, queue_name: str = "main") -> dict[str, Any]:
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]
    pods = {"name": "main", "count": 1, "template": {"spec": {"containers": containers, "restartPolicy": "Never"}}}
    spec = {"queueName": queue_name, "podSets": [pods], "priority": priority}
    if priority:
        spec["priorityClassRef"] = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
    return kueue("Workload", name, spec)


def told(server: ControlPlane, namespace: str, name: str) -> set[str]:
    """The reasons of the Events about an object."""
    events = server.request("GET", f"/api/v1/namespaces/{namespace}/events")["items"]
    return {event["reason"] for event in events if event["involvedObject"]["name"] == name}


def conditions(server: ControlPlane, namespace: str, name: str) -> dict[str, tuple[str, str]]:
    status = server.request("GET", f"{KUEUE}/namespaces/{namespace}/workloads/{name}").get("status", {})
    return {each["type"]: (each["status"], each["reason"]) for each in status.get("conditions", [])}


def test_workloads_are_admitted_preempted_and_told_why_they_wait(
    server: ControlPlane,
    reconciler: Reconciler,
    namespace: str,
    made: Callable[[str, dict[str, Any]], None],
) -> None:
    def is_(name: str, kind: str, expected: tuple[str, str]) -> bool:
        return conditions(server, namespace, name).get(kind) == expected

    made(f"{KUEUE}/resourceflavors", kueue("ResourceFlavor", "plain", {}))
    policy = {"withinClusterQueue": "LowerPriority"}
    made(f"{KUEUE}/clusterqueues", kueue("ClusterQueue", "team", queue("org", "2", preemption=policy)))
    made(f"{KUEUE}/namespaces/{namespace}/localqueues", kueue("LocalQueue", "main", {"clusterQueue": "team"}))
    made(f"{KUEUE}/namespaces/{namespace}/workloads", workload("first", "2"))

    until(lambda: is_("first", "Admitted", ("True", "Admitted")))

    made(f"{KUEUE}/namespaces/{namespace}/workloads", workload("second", "1"))
    until(lambda: is_("second", "QuotaReserved", ("False", "WaitingForQuota")))

    made(f"{KUEUE}/namespaces/{namespace}/workloads", workload("urgent", "2", priority=100))
    until(lambda: is_("first", "Evicted", ("True", "Preempted")))
    until(lambda: is_("urgent", "QuotaReserved", ("False", "WaitingForPreemptedWorkloads")))

    made(f"{KUEUE}/namespaces/{namespace}/workloads", workload("lost", "1", queue_name="nowhere"))
    until(lambda: is_("lost", "QuotaReserved", ("False", "Misconfigured")))
    until(
        lambda: {"QuotaReserved", "Admitted", "Preempted", "EvictedDueToPreempted"} <= told(server, namespace, "first")
    )
    until(lambda: "PreemptedWorkload" in told(server, namespace, "urgent"))
    assert reconciler.loop.stats.failed == 0


def test_queues_and_cohorts_show_what_they_hold_and_that_a_cycle_stops_them(
    server: ControlPlane,
    reconciler: Reconciler,
    namespace: str,
    made: Callable[[str, dict[str, Any]], None],
) -> None:
    def status(kind: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = server.request("GET", f"{KUEUE}/{kind}/{name}").get("status", {})
        return found

    def condition(kind: str, name: str) -> tuple[str, str]:
        found = status(kind, name).get("conditions") or [{"status": "", "reason": ""}]
        return found[0]["status"], found[0]["reason"]

    made(f"{KUEUE}/resourceflavors", kueue("ResourceFlavor", "plain", {}))
    made(f"{KUEUE}/cohorts", kueue("Cohort", "org", {}))
    made(f"{KUEUE}/clusterqueues", kueue("ClusterQueue", "team", queue("org", "2")))
    made(f"{KUEUE}/namespaces/{namespace}/localqueues", kueue("LocalQueue", "main", {"clusterQueue": "team"}))
    made(f"{KUEUE}/namespaces/{namespace}/workloads", workload("first", "2"))

    until(lambda: status("clusterqueues", "team").get("admittedWorkloads") == 1)
    until(lambda: status(f"namespaces/{namespace}/localqueues", "main").get("admittedWorkloads") == 1)
    (flavor,) = status("clusterqueues", "team")["flavorsReservation"]
    assert flavor == {"name": "plain", "resources": [{"name": "cpu", "total": "2", "borrowed": "0"}]}
    until(lambda: condition("cohorts", "org") == ("True", "Ready"))

    made(f"{KUEUE}/cohorts", kueue("Cohort", "top", {"parentName": "org"}))
    server.kubectl("patch", "cohort", "org", "--type=merge", "-p", '{"spec":{"parentName":"top"}}')
    until(lambda: condition("clusterqueues", "team") == ("False", "CohortCycleDetected"))
    until(lambda: condition("cohorts", "org") == ("False", "CohortCycleDetected"))
    assert conditions(server, namespace, "first")["Admitted"] == ("True", "Admitted"), "what runs goes on"

    server.kubectl("patch", "cohort", "org", "--type=merge", "-p", '{"spec":{"parentName":null}}')
    until(lambda: condition("clusterqueues", "team") == ("True", "Ready"))
    assert reconciler.loop.stats.failed == 0
