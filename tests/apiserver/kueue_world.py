"""What the tests of the reconciler make on a real API server: Kueue's kinds, objects of them, and one who follows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cluster.client import Cluster
from cluster.endpoint import from_kubeconfig
from reconciler.configured import DEFAULTS, read_configured
from reconciler.process import Reconciler
from tests.apiserver.harness import ApiError, ControlPlane
from tests.waiting import eventually

CRDS = Path(__file__).parents[2] / "manifests" / "crds"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"


def install(server: ControlPlane) -> None:
    """Kueue's kinds, served when it returns."""
    server.kubectl("apply", "-k", str(CRDS))
    eventually(lambda: served(server, f"{KUEUE}/workloads"))


@contextmanager
def following(server: ControlPlane, **configuration: Any) -> Iterator[Reconciler]:
    """A reconciler that knows all there is, with these sections of Kueue's Configuration."""
    settings = read_configured({**DEFAULTS, **configuration}).settings if configuration else None
    with Cluster(from_kubeconfig(None, str(server.kubeconfig))) as cluster:
        running = Reconciler(cluster, settings)
        running.start()
        try:
            eventually(lambda: running.ready)
            yield running
        finally:
            running.stop()


def served(server: ControlPlane, path: str) -> bool:
    try:
        server.request("GET", path)
    except ApiError:
        return False
    return True


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


def conditions(server: ControlPlane, namespace: str, name: str) -> dict[str, tuple[str, str]]:
    status = server.request("GET", f"{KUEUE}/namespaces/{namespace}/workloads/{name}").get("status", {})
    return {each["type"]: (each["status"], each["reason"]) for each in status.get("conditions", [])}
