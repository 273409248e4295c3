"""End to end, as a tenant with the rights of a namespace: no Job runs without quota, whatever is patched or forged.

Webhook and reconciler run as shipped, with the real Job controller and garbage collector. There is no scheduler: a
stored Pod counts as running. Their requests are recounted from the Pods alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.apiserver.harness import ApiError, ControlPlane
from tests.apiserver.jobs.tenant_world import (
    JOBS,
    MERGE,
    QUOTA,
    TEAM,
    TENANT,
    WORKLOADS,
    Manifest,
    asked,
    job,
    nothing_is_left,
    patch,
    refused,
    runs,
    submit,
    workload_of,
)
from tests.apiserver.kueue_world import KUEUE, conditions, served
from tests.apiserver.webhook.guard import Guard
from tests.builders import batch_job, container, kueue, pod, template
from tests.waiting import eventually, throughout

SECONDS = 3.0
"""How long a patch is tried again and again."""
K = "kueue.x-k8s.io/"


@pytest.fixture
def server(shipped: ControlPlane) -> Iterator[ControlPlane]:
    yield shipped
    nothing_is_left(shipped)


def full_queue(server: ControlPlane) -> None:
    """One Job uses the whole quota."""
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
def test_a_waiting_job_cannot_be_unsuspended_or_leave_its_queue(server: ControlPlane, attack: Manifest) -> None:
    full_queue(server)
    submit(server, "thief", "30")
    workload_of(server, "thief")

    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        assert "quota-evaded" in refused(server, "thief", attack)
        assert asked(server) <= QUOTA
    assert not runs(server, "thief")


def test_a_running_job_cannot_grow(server: ControlPlane) -> None:
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
def test_a_bypass_of_the_webhook_is_undone(server: ControlPlane, guard: Guard, name: str, attack: Manifest) -> None:
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

    def stopped() -> set[str]:
        events = server.request("GET", f"{TEAM}/events")["items"]
        return {each["involvedObject"]["name"] for each in events if each["reason"] == "Stopped"}

    assert eventually(lambda: name in stopped())


def test_a_job_created_unsuspended_waits_only_if_it_names_a_queue(server: ControlPlane) -> None:
    full_queue(server)

    server.request("POST", JOBS, job("thief", "30", suspend=False), user=TENANT)

    assert not runs(server, "thief")
    free = batch_job("free", {"template": template("100m")}, None)
    server.request("POST", JOBS, free, user=TENANT)
    assert runs(server, "free")


@pytest.mark.parametrize("owner", ["nobody", "a job that waits", "a job that runs", "another uid"])
def test_a_job_with_a_forged_owner_does_not_start(server: ControlPlane, owner: str) -> None:
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

    submit(server, "later", "30")
    why = "workload owner not found: Job nobody" if owner == "nobody" else "quota-evaded"
    assert why in refused(server, "later", {"metadata": {"ownerReferences": [reference]}})
    thief = job("thief", "30", suspend=False, ownerReferences=[reference])
    if owner == "nobody":
        with pytest.raises(ApiError, match=why):
            server.request("POST", JOBS, thief, user=TENANT)
        return
    until = time.monotonic() + SECONDS
    server.request("POST", JOBS, thief, user=TENANT)
    while time.monotonic() < until:
        assert asked(server) <= QUOTA
        if served(server, f"{JOBS}/thief"):
            with pytest.raises(ApiError):  # until the garbage collector deletes it, as its owner does not exist
                patch(server, "thief", {"spec": {"suspend": False}})


@pytest.mark.parametrize("policy", ["Orphan", "Background", "Foreground"])
def test_the_quota_of_a_deleted_job_is_used_until_its_pods_have_ended(server: ControlPlane, policy: str) -> None:
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
    for _ in throughout(SECONDS):
        assert asked(server) == QUOTA, "the Pod is bound, and no kubelet ends it"
        assert conditions(server, "team", held)["QuotaReserved"] == ("True", "QuotaReserved")
        assert not runs(server, "second")
    server.request("DELETE", f"{TEAM}/pods/{name}?gracePeriodSeconds=0", user=TENANT)

    eventually(lambda: runs(server, "second"))


def test_a_user_can_move_a_waiting_job_and_suspend_a_running_job(server: ControlPlane) -> None:
    other = kueue("LocalQueue", "other", {"clusterQueue": "team"})
    server.request("POST", f"{KUEUE}/namespaces/team/localqueues", other)
    full_queue(server)
    submit(server, "second", "2")
    workload_of(server, "second")

    patch(server, "second", {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "other"}}})
    patch(server, "first", {"spec": {"suspend": True}})
    eventually(lambda: runs(server, "first"))  # it is still admitted, so it is started again
    server.request("DELETE", f"{JOBS}/first?propagationPolicy=Background", user=TENANT)
    assert eventually(lambda: runs(server, "second"))


def test_a_pod_of_a_job_cannot_remove_the_labels_that_count_it(server: ControlPlane) -> None:
    full_queue(server)
    (pod,) = server.request("GET", f"{TEAM}/pods")["items"]
    path = f"{TEAM}/pods/{pod['metadata']['name']}"

    for hidden in (
        {"metadata": {"labels": {"kueue.x-k8s.io/podset": None}}},
        {"metadata": {"annotations": {"kueue.x-k8s.io/workload": "another"}}},
        {"metadata": {"annotations": {"kueue.x-k8s.io/workload-slice-name": "another"}}},
    ):
        with pytest.raises(ApiError, match="quota-evaded"):
            server.request("PATCH", path, hidden, user=TENANT, content_type=MERGE)
    larger = {"spec": {"containers": [container(cpu="60")]}}
    with pytest.raises(ApiError):
        server.request("PATCH", f"{path}/resize", larger, user=TENANT, content_type=MERGE)
    assert asked(server) == QUOTA


# --- elastic jobs


def elastic(server: ControlPlane, name: str, pods: int) -> None:
    made = job(name, "500m", annotations={f"{K}elastic-job": "true"})
    spec = {**made["spec"], "parallelism": pods, "completions": 60}
    server.request("POST", JOBS, {**made, "spec": spec}, user=TENANT)


def slices(server: ControlPlane) -> list[tuple[int, str]]:
    """The Pods and the state of each slice, the oldest first: waiting, admitted, or the reason of its end."""
    found = server.request("GET", WORKLOADS)["items"]
    return [(each["spec"]["podSets"][0]["count"], _state(each)) for each in sorted(found, key=_age)]


def _age(workload: Manifest) -> tuple[str, bool]:
    meta = workload["metadata"]
    return meta["creationTimestamp"], f"{K}workload-slice-replacement-for" in meta.get("annotations", {})


def _state(workload: Manifest) -> str:
    found = workload.get("status", {}).get("conditions", [])
    holding = {each["type"]: each for each in found if each["status"] == "True"}
    if "Finished" in holding:
        return str(holding["Finished"]["reason"])
    return "admitted" if "Admitted" in holding else "waits"


def gated(server: ControlPlane) -> int:
    pods = server.request("GET", f"{TEAM}/pods")["items"]
    return sum(bool(each["spec"].get("schedulingGates")) for each in pods)


def test_an_elastic_job_grows_and_shrinks_while_it_runs(server: ControlPlane) -> None:
    elastic(server, "grows", 1)
    eventually(lambda: asked(server) == 500)

    patch(server, "grows", {"spec": {"parallelism": 3}})

    eventually(lambda: slices(server) == [(1, "WorkloadSliceReplaced"), (3, "admitted")])
    eventually(lambda: asked(server) == 1500)
    assert gated(server) == 0

    patch(server, "grows", {"spec": {"parallelism": 2}})
    eventually(lambda: slices(server) == [(1, "WorkloadSliceReplaced"), (2, "admitted")])
    eventually(lambda: asked(server) == 1000)
    submit(server, "other", "1")
    eventually(lambda: asked(server) == QUOTA)
    assert runs(server, "grows")


def test_pods_of_an_elastic_job_beyond_the_quota_stay_gated(server: ControlPlane) -> None:
    submit(server, "other", "1")
    elastic(server, "grows", 1)
    eventually(lambda: asked(server) == 1500)

    until = time.monotonic() + SECONDS
    sizes = iter(range(5, 1000))
    while time.monotonic() < until:
        patch(server, "grows", {"spec": {"parallelism": next(sizes)}})
        assert asked(server) == 1500
    patch(server, "grows", {"spec": {"parallelism": 5}})

    eventually(lambda: [each for each in slices(server) if each[1] in ("waits", "admitted")][-1] == (5, "waits"))
    assert sum(state == "waits" for _, state in slices(server)) == 1, "at most one slice waits"
    eventually(lambda: gated(server) == 4)
    waiting = next(
        each for each in server.request("GET", f"{TEAM}/pods")["items"] if each["spec"].get("schedulingGates")
    )
    path = f"{TEAM}/pods/{waiting['metadata']['name']}"
    with pytest.raises(ApiError, match="pod-mark-removed"):
        server.request("PATCH", path, {"spec": {"schedulingGates": []}}, user=TENANT, content_type=MERGE)
    assert asked(server) == 1500
    patch(server, "grows", {"spec": {"parallelism": 2}})
    eventually(lambda: asked(server) == QUOTA)


def test_the_topology_gate_of_a_pod_cannot_be_removed_by_its_user(server: ControlPlane) -> None:
    gate = "kueue.x-k8s.io/topology"
    spec = {**template("1")["spec"], "schedulingGates": [{"name": gate}]}
    notes = {"kueue.x-k8s.io/podset-required-topology": "rack", "kueue.x-k8s.io/workload": "train"}
    made = pod("placed", None, spec, annotations=notes, labels={"kueue.x-k8s.io/podset": "main"})
    server.request("POST", f"{TEAM}/pods", made)

    elsewhere = {"schedulingGates": None, "nodeSelector": {"kubernetes.io/hostname": "n9"}}
    with pytest.raises(ApiError, match=f"pod-mark-removed.*{gate}"):
        server.request("PATCH", f"{TEAM}/pods/placed", {"spec": elsewhere}, user=TENANT, content_type=MERGE)


def test_an_elastic_job_is_preempted_as_a_whole_and_restarts_in_its_new_size(server: ControlPlane) -> None:
    server.request(
        "POST", f"{KUEUE}/workloadpriorityclasses", {**kueue("WorkloadPriorityClass", "high", {}), "value": 9}
    )
    policy = {"spec": {"preemption": {"withinClusterQueue": "LowerPriority"}}}
    server.request("PATCH", f"{KUEUE}/clusterqueues/team", policy, content_type=MERGE)
    elastic(server, "grows", 2)
    eventually(lambda: asked(server) == 1000)
    patch(server, "grows", {"spec": {"parallelism": 9}})
    eventually(lambda: (9, "waits") in slices(server))

    urgent = job("urgent", "2")
    urgent["metadata"]["labels"][f"{K}priority-class"] = "high"
    server.request("POST", JOBS, urgent, user=TENANT)

    eventually(lambda: runs(server, "urgent") and not runs(server, "grows"))
    eventually(lambda: (9, "OutOfSync") in slices(server))
    patch(server, "grows", {"spec": {"parallelism": 3}})
    server.kubectl("delete", "job", "urgent", "-n", "team")
    eventually(lambda: runs(server, "grows"))
    assert eventually(lambda: asked(server) == 1500)
