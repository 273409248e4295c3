"""End to end, as a tenant with the rights of a namespace: no Job runs without quota, whatever is patched or forged.

Webhook and reconciler run as shipped, with the real Job controller and garbage collector. There is no scheduler: a
Pod that is there might run. What they ask for is recounted from the Pods alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apiserver import build
from tests.apiserver.harness import ApiError, ControlPlane, User
from tests.apiserver.kueue_world import KUEUE, conditions, queue
from tests.apiserver.reconciler.shipped_reconciler import Replica
from tests.apiserver.webhook.guard import ROOT, Guard
from tests.builders import batch_job, container, kueue, queued, template
from tests.waiting import eventually

TENANT = "tina"
TEAM = "/api/v1/namespaces/team"
WORKLOADS = f"{KUEUE}/namespaces/team/workloads"
JOBS = "/apis/batch/v1/namespaces/team/jobs"
MERGE = "application/merge-patch+json"
QUOTA = 2_000
"""Milli-CPU of the team."""
SECONDS = 3.0
"""How long a patch is tried again and again."""
CONFIGURATION = """
apiVersion: config.quotree.dev/v1alpha1
kind: Configuration
kueue: {manageJobs: true}
"""
Manifest = dict[str, Any]


@pytest.fixture(scope="module")
def guard(programs: build.Programs) -> Iterator[Guard]:
    with (
        ControlPlane(users=(User(TENANT),), controller_manager=True) as started,
        Guard(started, CONFIGURATION) as running,
    ):
        yield running


@pytest.fixture(scope="module")
def server(guard: Guard, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    folder: Path = tmp_path_factory.mktemp("reconciler") / "replica"
    started = guard.control_plane
    everything = started.kubectl("kustomize", str(ROOT / "manifests" / "with-reconciler")).stdout
    things = [each for each in yaml.safe_load_all(everything) if "webhooks" not in each]
    started.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(things))
    organisation(started)
    replica = Replica(started, folder)
    try:
        eventually(lambda: replica.writes, replica.log)
        yield started
    finally:
        replica.close()


def organisation(server: ControlPlane) -> None:
    server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
    server.request("POST", "/api/v1/nodes", {"metadata": {"name": "node"}})
    server.request("POST", f"{KUEUE}/resourceflavors", kueue("ResourceFlavor", "plain", {}))
    server.request("POST", f"{KUEUE}/clusterqueues", kueue("ClusterQueue", "team", queue("org", f"{QUOTA}m")))
    local = kueue("LocalQueue", "main", {"clusterQueue": "team"})
    server.request("POST", f"{KUEUE}/namespaces/team/localqueues", local)
    for role in ("admin", "quotree-batch-user"):
        server.kubectl("create", "rolebinding", role, f"--clusterrole={role}", f"--user={TENANT}", "-n", "team")


@pytest.fixture(autouse=True)
def _nothing_is_left(server: ControlPlane) -> Iterator[None]:
    yield
    for path in (JOBS, f"{TEAM}/pods", WORKLOADS):
        server.request("DELETE", f"{path}?propagationPolicy=Background&gracePeriodSeconds=0")
    eventually(lambda: not server.request("GET", f"{TEAM}/pods")["items"])
    eventually(lambda: not server.request("GET", WORKLOADS)["items"])


def job(name: str, cpu: str, *, suspend: bool = True, **meta: Any) -> Manifest:
    spec = {"suspend": suspend, "template": template(cpu), "backoffLimit": 0}
    return batch_job(name, spec, None, labels=queued("main"), **meta)


def submit(server: ControlPlane, name: str, cpu: str) -> None:
    server.request("POST", JOBS, job(name, cpu), user=TENANT)


def patch(server: ControlPlane, name: str, body: Manifest) -> None:
    server.request("PATCH", f"{JOBS}/{name}", body, user=TENANT, content_type=MERGE)


def refused(server: ControlPlane, name: str, body: Manifest) -> str:
    with pytest.raises(ApiError) as error:
        patch(server, name, body)
    assert error.value.status == 403
    return error.value.body


def runs(server: ControlPlane, name: str) -> bool:
    return not server.request("GET", f"{JOBS}/{name}")["spec"].get("suspend", False)


def asked(server: ControlPlane) -> int:
    """Milli-CPU of all Pods that have not ended."""
    pods = [each for each in server.request("GET", f"{TEAM}/pods")["items"] if not each["spec"].get("schedulingGates")]
    going = [each for each in pods if each["status"].get("phase") not in ("Succeeded", "Failed")]
    return sum(milli(each["spec"]["containers"][0]["resources"]["requests"]["cpu"]) for each in going)


def milli(cpu: str) -> int:
    return int(cpu[:-1]) if cpu.endswith("m") else 1000 * int(cpu)


def workload_of(server: ControlPlane, name: str) -> str:
    def found() -> str:
        items = server.request("GET", f"{KUEUE}/namespaces/team/workloads")["items"]
        return next(
            (each["metadata"]["name"] for each in items if each["metadata"]["name"].startswith(f"job-{name}-")), ""
        )

    return str(eventually(found))


def full_queue(server: ControlPlane) -> None:
    """One Job has all the quota there is."""
    submit(server, "first", "2")
    eventually(lambda: asked(server) == QUOTA)


@pytest.mark.parametrize(
    "attack",
    [
        {"spec": {"suspend": False}},
        {"spec": {"suspend": False}, "metadata": {"labels": {"kueue.x-k8s.io/queue-name": None}}},
        {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": None}}},
        {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": ""}}},
    ],
    ids=["started", "started outside its queue", "out of its queue", "out of its queue by an empty name"],
)
def test_who_waits_does_not_start_itself(server: ControlPlane, attack: Manifest) -> None:
    full_queue(server)
    submit(server, "thief", "30")
    workload_of(server, "thief")

    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        assert "quota-evaded" in refused(server, "thief", attack)
        assert asked(server) <= QUOTA
    assert not runs(server, "thief")


def test_who_runs_does_not_grow(server: ControlPlane) -> None:
    small = job("thief", "500m")
    server.request("POST", JOBS, {**small, "spec": {**small["spec"], "completions": 60}}, user=TENANT)
    eventually(lambda: asked(server) == 500)

    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        assert "quota-evaded" in refused(server, "thief", {"spec": {"parallelism": 60}})
        assert asked(server) == 500


@pytest.mark.parametrize(
    ("name", "attack"), [("waits", {"suspend": False}), ("small", {"parallelism": 60})], ids=["start", "grow"]
)
def test_what_the_webhook_missed_is_undone(server: ControlPlane, guard: Guard, name: str, attack: Manifest) -> None:
    small = job("small", "2")
    server.request("POST", JOBS, {**small, "spec": {**small["spec"], "completions": 60}}, user=TENANT)
    eventually(lambda: asked(server) == QUOTA)
    submit(server, "waits", "2")
    workload_of(server, "waits")

    guard.stop()
    try:
        patch(server, name, {"spec": attack})
        eventually(lambda: asked(server) <= QUOTA and not runs(server, name))
    finally:
        guard.start()
    told = [each for each in server.request("GET", f"{TEAM}/events")["items"] if each["reason"] == "Stopped"]
    assert name in {each["involvedObject"]["name"] for each in told}


@pytest.mark.parametrize("least", [1, 2])
def test_a_job_starts_with_fewer_pods_and_gets_its_own_number_back(server: ControlPlane, least: int) -> None:
    """The webhook lets the reconciler start it also with no more than its least number of pods."""

    def sizes() -> tuple[bool, int, int]:
        spec = server.request("GET", f"{JOBS}/fewer")["spec"]
        return spec["suspend"], spec["parallelism"], spec["completions"]

    submit(server, "first", "1")
    eventually(lambda: asked(server) == 1000)
    notes = {"kueue.x-k8s.io/job-min-parallelism": str(least)}
    spec = {"suspend": True, "parallelism": 4, "completions": 8, "template": template("1" if least == 1 else "500m")}
    server.request("POST", JOBS, batch_job("fewer", spec, None, labels=queued("main"), annotations=notes), user=TENANT)
    eventually(lambda: sizes() == (False, least, 8))
    eventually(lambda: asked(server) == QUOTA)
    assert "partial-admission-invalid" in refused(server, "fewer", {"spec": {"suspend": True, "parallelism": 4}})

    own = f"{WORKLOADS}/{workload_of(server, 'fewer')}"
    server.request("PATCH", own, {"spec": {"active": False}}, content_type=MERGE)
    eventually(lambda: sizes() == (True, 4, 8))
    server.request("DELETE", f"{JOBS}/first?propagationPolicy=Background", user=TENANT)
    eventually(lambda: len(server.request("GET", WORKLOADS)["items"]) == 1)
    server.request("PATCH", own, {"spec": {"active": True}}, content_type=MERGE)
    eventually(lambda: sizes() == (False, 2 * least, 8))


def test_a_job_that_is_created_suspended_is_left_to_multikueue_where_its_queue_goes_abroad(
    server: ControlPlane,
) -> None:
    far = {"apiVersion": f"{KUEUE.removeprefix('/apis/')}", "kind": "AdmissionCheck", "metadata": {"name": "abroad"}}
    server.request("POST", f"{KUEUE}/admissionchecks", {**far, "spec": {"controllerName": "kueue.x-k8s.io/multikueue"}})
    strategy = {"admissionChecksStrategy": {"admissionChecks": [{"name": "abroad"}]}}
    server.request("POST", f"{KUEUE}/clusterqueues", kueue("ClusterQueue", "far", queue("org", "1", **strategy)))
    local = kueue("LocalQueue", "far", {"clusterQueue": "far"})
    server.request("POST", f"{KUEUE}/namespaces/team/localqueues", local)

    def managed_by(queue_name: str, **spec: str) -> str | None:
        body = batch_job("seen", {"suspend": True, "template": template("1"), **spec}, None, labels=queued(queue_name))
        found: str | None = server.request("POST", f"{JOBS}?dryRun=All", body, user=TENANT)["spec"].get("managedBy")
        return found

    eventually(lambda: managed_by("far") == "kueue.x-k8s.io/multikueue")
    assert managed_by("far", managedBy="kubernetes.io/job-controller") == "kueue.x-k8s.io/multikueue"
    assert managed_by("far", managedBy="example.com/mine") == "example.com/mine"
    assert managed_by("main") is None
    assert managed_by("nowhere") is None


def test_a_job_that_is_created_running_waits_and_one_without_a_queue_does_not(server: ControlPlane) -> None:
    full_queue(server)

    server.request("POST", JOBS, job("thief", "30", suspend=False), user=TENANT)

    assert not runs(server, "thief")
    free = batch_job("free", {"template": template("100m")}, None)
    server.request("POST", JOBS, free, user=TENANT)
    assert runs(server, "free")


@pytest.mark.parametrize("owner", ["nobody", "a job that waits", "a job that runs", "another uid"])
def test_a_forged_owner_starts_nothing(server: ControlPlane, owner: str) -> None:
    full_queue(server)
    submit(server, "waits", "1")
    uids = {name: server.request("GET", f"{JOBS}/{name}")["metadata"]["uid"] for name in ("first", "waits")}
    name, uid = {
        "nobody": ("nobody", "0b5d4d2e-0000-4000-8000-000000000000"),
        "a job that waits": ("waits", uids["waits"]),
        "a job that runs": ("first", uids["first"]),
        "another uid": ("first", uids["waits"]),
    }[owner]
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid, "controller": True}

    thief = job("thief", "30", suspend=False, ownerReferences=[reference])
    until = time.monotonic() + SECONDS
    server.request("POST", JOBS, thief, user=TENANT)
    while time.monotonic() < until:
        assert asked(server) <= QUOTA
        if server.request("GET", JOBS)["items"][-1]["metadata"]["name"] == "thief":
            with pytest.raises(ApiError):  # until the garbage collector takes it for an owner that is not there
                patch(server, "thief", {"spec": {"suspend": False}})
    submit(server, "later", "30")
    assert "quota-evaded" in refused(server, "later", {"metadata": {"ownerReferences": [reference]}})


@pytest.mark.parametrize("policy", ["Orphan", "Background", "Foreground"])
def test_quota_is_counted_until_the_pods_of_a_deleted_job_are_gone(server: ControlPlane, policy: str) -> None:
    full_queue(server)
    (pod,) = server.request("GET", f"{TEAM}/pods")["items"]
    name = pod["metadata"]["name"]
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name},
        "target": {"kind": "Node", "name": "node"},
    }
    server.request("POST", f"{TEAM}/pods/{name}/binding", binding)
    held = workload_of(server, "first")
    submit(server, "second", "2")

    server.request("DELETE", f"{JOBS}/first?propagationPolicy={policy}", user=TENANT)
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        assert asked(server) == QUOTA, "the Pod is bound, and no kubelet ends it"
        assert conditions(server, "team", held)["QuotaReserved"] == ("True", "QuotaReserved")
        assert not runs(server, "second")
    server.request("DELETE", f"{TEAM}/pods/{name}?gracePeriodSeconds=0", user=TENANT)

    eventually(lambda: runs(server, "second"))


def test_a_user_moves_a_job_and_stops_it(server: ControlPlane) -> None:
    other = kueue("LocalQueue", "other", {"clusterQueue": "team"})
    server.request("POST", f"{KUEUE}/namespaces/team/localqueues", other)
    full_queue(server)
    submit(server, "second", "2")
    workload_of(server, "second")

    patch(server, "second", {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "other"}}})
    patch(server, "first", {"spec": {"suspend": True}})
    eventually(lambda: runs(server, "first"))  # it is admitted still, so that it is started again
    server.request("DELETE", f"{JOBS}/first?propagationPolicy=Background", user=TENANT)
    eventually(lambda: runs(server, "second"))


def test_a_pod_of_the_job_cannot_hide_from_the_count(server: ControlPlane) -> None:
    full_queue(server)
    (pod,) = server.request("GET", f"{TEAM}/pods")["items"]
    path = f"{TEAM}/pods/{pod['metadata']['name']}"

    for hidden in (
        {"metadata": {"labels": {"kueue.x-k8s.io/podset": None}}},
        {"metadata": {"annotations": {"kueue.x-k8s.io/workload": "another"}}},
    ):
        with pytest.raises(ApiError, match="quota-evaded"):
            server.request("PATCH", path, hidden, user=TENANT, content_type=MERGE)
    larger = {"spec": {"containers": [container(cpu="60")]}}
    with pytest.raises(ApiError):
        server.request("PATCH", f"{path}/resize", larger, user=TENANT, content_type=MERGE)
    assert asked(server) == QUOTA
