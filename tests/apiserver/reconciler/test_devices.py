"""Jobs whose pods claim devices by ResourceClaimTemplate, on a real API server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.apiserver import build
from tests.apiserver.harness import ControlPlane
from tests.apiserver.jobs.batch_jobs import job
from tests.apiserver.kueue_world import KUEUE, empty, following, install
from tests.builders import cluster_queue, flavor, group, kueue
from tests.waiting import eventually

HOME = "/apis/batch/v1/namespaces/default/jobs"
DEVICES = "/apis/resource.k8s.io/v1"
TEMPLATES = f"{DEVICES}/namespaces/default/resourceclaimtemplates"
MAPPINGS = {"deviceClassMappings": [{"name": "gpus", "deviceClassNames": ["gpu.example.com"]}]}


@pytest.fixture
def server(programs: build.Programs) -> Iterator[ControlPlane]:
    with ControlPlane() as started:
        install(started)
        started.request("POST", f"{KUEUE}/resourceflavors", kueue("ResourceFlavor", "plain", {}))
        quotas = group("cpu gpus", flavor("plain", cpu="10", gpus="3"))
        started.request("POST", f"{KUEUE}/clusterqueues", cluster_queue("team", None, quotas))
        local = kueue("LocalQueue", "main", {"clusterQueue": "team"})
        started.request("POST", f"{KUEUE}/namespaces/default/localqueues", local)
        yield started
        empty(started)


def claim_template(name: str, devices: int, device_class: str = "gpu.example.com") -> dict[str, Any]:
    request = {"name": "gpu", "exactly": {"deviceClassName": device_class, "count": devices}}
    spec = {"spec": {"devices": {"requests": [request]}}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name},
        "spec": spec,
    }


def claiming(name: str, template: str) -> dict[str, Any]:
    made = job(name, "1")
    made["spec"]["template"]["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": template}]
    return made


def workload_of(server: ControlPlane, name: str) -> dict[str, Any]:
    items = server.request("GET", f"{KUEUE}/namespaces/default/workloads")["items"]
    return next((each for each in items if each["metadata"]["ownerReferences"][0]["name"] == name), {})


def condition(server: ControlPlane, name: str, kind: str) -> tuple[str, str, str]:
    """Status, reason and message of a condition of a job's Workload."""
    for each in workload_of(server, name).get("status", {}).get("conditions", []):
        if each["type"] == kind:
            return each["status"], each["reason"], each["message"]
    return "", "", ""


def used(server: ControlPlane) -> str:
    """The devices in use, by the status of the ClusterQueue."""
    usage = server.request("GET", f"{KUEUE}/clusterqueues/team")["status"]["flavorsUsage"]
    return next(each["total"] for each in usage[0]["resources"] if each["name"] == "gpus")


def runs(server: ControlPlane, name: str) -> bool:
    return not server.request("GET", f"{HOME}/{name}")["spec"].get("suspend")


def test_jobs_share_the_devices_of_a_queue_and_wait_for_missing_templates(server: ControlPlane) -> None:
    server.request("POST", TEMPLATES, claim_template("two", 2))
    server.request("POST", TEMPLATES, claim_template("other", 1, "other.example.com"))
    with following(server, resources=MAPPINGS):
        server.request("POST", HOME, claiming("first", "two"))
        eventually(lambda: runs(server, "first"))
        (assigned,) = workload_of(server, "first")["status"]["admission"]["podSetAssignments"]
        assert assigned["resourceUsage"]["gpus"] == "2"

        server.request("POST", HOME, claiming("second", "two"))
        server.request("POST", HOME, claiming("unmapped", "other"))
        server.request("POST", HOME, claiming("late", "one"))
        says = eventually(lambda: condition(server, "second", "QuotaReserved")[2])
        assert "insufficient unused quota for gpus in flavor plain" in says
        for name, why in (("unmapped", "DeviceClass other.example.com is not mapped"), ("late", '"one" not found')):
            eventually(lambda name=name: condition(server, name, "Requeued")[2])
            for kind in ("QuotaReserved", "Requeued"):
                status, reason, message = condition(server, name, kind)
                assert (status, reason) == ("False", "Inadmissible")
                assert why in message

        server.request("POST", TEMPLATES, claim_template("one", 1))
        eventually(lambda: runs(server, "late"))
        assert condition(server, "late", "Requeued")[:2] == ("True", "DRAResourcesResolved")

        server.request("DELETE", f"{HOME}/first?propagationPolicy=Background")
        eventually(lambda: runs(server, "second"))
        assert eventually(lambda: used(server) == "3")


def test_a_template_that_is_created_again_larger_does_not_get_more_than_the_quota(server: ControlPlane) -> None:
    """The tenant replaces the template of a running Job. Pods that are created later would get eight devices."""
    server.request("POST", TEMPLATES, claim_template("swapped", 1))
    with following(server, resources=MAPPINGS):
        server.request("POST", HOME, claiming("cheat", "swapped"))
        eventually(lambda: runs(server, "cheat"))

        server.request("DELETE", f"{TEMPLATES}/swapped")
        server.request("POST", TEMPLATES, claim_template("swapped", 8))

        eventually(lambda: not runs(server, "cheat"))
        eventually(lambda: "(8) > maximum capacity (3)" in condition(server, "cheat", "QuotaReserved")[2])
        assert condition(server, "cheat", "Evicted")[1] == "DevicesChanged"
        assert eventually(lambda: used(server) == "0")
