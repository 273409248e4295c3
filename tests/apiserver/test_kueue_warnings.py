"""What Kueue takes without a word is warned of on the real API server, where kubectl shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.apiserver import build
from tests.apiserver.guard import Guard, eventually
from tests.apiserver.harness import ControlPlane
from tests.policies.test_quota import node


def kueue(kind: str, name: str, /, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec}


def local_queue(name: str, to: str) -> dict[str, Any]:
    manifest = kueue("LocalQueue", name, clusterQueue=to)
    manifest["metadata"]["namespace"] = "default"
    return manifest


def workload(cpu: str) -> dict[str, Any]:
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    manifest = kueue(
        "Workload", "train", queueName="team", podSets=[{"name": "main", "count": 1, "template": template}]
    )
    manifest["metadata"]["namespace"] = "default"
    return manifest


def preempting(manifest: dict[str, Any]) -> dict[str, Any]:
    manifest["spec"]["preemption"] = {"reclaimWithinCohort": "Any"}
    return manifest


STORED = [
    kueue("ResourceFlavor", "spot"),
    kueue("Cohort", "research"),
    kueue("ClusterQueue", "held", stopPolicy="Hold", namespaceSelector={}),
    node("ml", "research", 10),
    node("web", "research", 12),
    local_queue("team", "ml"),
]
WARNED = {
    "flavor-missing": yaml.safe_load(yaml.safe_dump(node("new", "research", 10)).replace("spot", "sopt")),
    "admission-check-missing": kueue(
        "ClusterQueue", "new", admissionChecksStrategy={"admissionChecks": [{"name": "budget"}]}
    ),
    "cohort-name-slip": kueue("ClusterQueue", "new", cohortName="reserch"),
    "queue-named-like-cohort": kueue("ClusterQueue", "research"),
    "local-queue-to-stopped": local_queue("new", "held"),
    "borrowing-limit-unreachable": node("new", "research", 1, borrowing=100),
    "lending-limit-idle": node("new", "elsewhere", 4, lending=1),
    "quota-out-of-scale": node("new", "research", 12000),
    "reclaim-without-loan": preempting(node("new", "research", 4, lending=0)),
    "moved-to-another-root": node("ml", "elsewhere", 10),
    "quota-below-reserved": node("ml", "research", 4, borrowing=1),
    "workload-never-fits": workload("23"),
}


@pytest.fixture(scope="module")
def guard(programs: build.Programs) -> Iterator[Guard]:
    with ControlPlane() as control_plane, Guard(control_plane) as running:
        control_plane.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(STORED))
        held = {"flavorsReservation": [{"name": "spot", "resources": [{"name": "cpu", "total": "8"}]}]}
        patch = yaml.safe_dump({"status": held})
        control_plane.kubectl("patch", "clusterqueue", "ml", "--subresource=status", "--type=merge", "-p", patch)
        yield running


@pytest.mark.parametrize("rule", WARNED)
def test_kubectl_shows_the_warning_and_goes_on(guard: Guard, rule: str) -> None:
    kubectl, manifest = guard.control_plane.kubectl, yaml.safe_dump(WARNED[rule])

    def warned() -> bool:
        done = kubectl("apply", "--dry-run=server", "-f", "-", input=manifest)
        return f"[{rule}]" in done.stderr

    eventually(warned, lambda: f"{rule} is not warned of", seconds=10)
