"""End to end, as a tenant: Pods use quota until a node reports their end, whatever is patched.

Webhook and reconciler run as shipped, with the real Job controller and garbage collector. The tests bind the Pods and
write their status. What runs is recounted from the Pods that have a node and have not ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests import builders
from tests.apiserver.harness import ApiError, ControlPlane
from tests.apiserver.jobs.tenant_world import (
    JOBS,
    MERGE,
    QUOTA,
    TEAM,
    TENANT,
    WORKLOADS,
    job,
    milli,
    nothing_is_left,
    runs,
    submit,
    workload_of,
)
from tests.apiserver.kueue_world import KUEUE
from tests.apiserver.webhook.guard import Guard
from tests.builders import container, kueue
from tests.waiting import eventually, throughout

SECONDS = 3.0
"""How long a test checks that something does not happen."""
BACKOFF = 12.0
"""Longer than the Job controller waits before it replaces a Pod."""
ROUNDS = 3
UID = "batch.kubernetes.io/controller-uid"
LET_GO = {"metadata": {"labels": {UID: None, "controller-uid": None}, "finalizers": None}}
"""The Job controller lets go of a Pod without these labels, and makes another one."""


@pytest.fixture
def server(shipped: ControlPlane) -> Iterator[ControlPlane]:
    yield shipped
    nothing_is_left(shipped)


def pods(server: ControlPlane) -> list[dict[str, Any]]:
    return list(server.request("GET", f"{TEAM}/pods")["items"])


def bind(server: ControlPlane) -> None:
    """As a scheduler and a kubelet do: every Pod gets the node and runs."""
    for pod in pods(server):
        meta = pod["metadata"]
        if pod["spec"].get("nodeName") or pod["spec"].get("schedulingGates") or meta.get("deletionTimestamp"):
            continue
        target = {"apiVersion": "v1", "kind": "Node", "name": "node"}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"]}, "target": target}
        try:
            server.request("POST", f"{TEAM}/pods/{meta['name']}/binding", body)
            status = {"status": {"phase": "Running"}}
            server.request("PATCH", f"{TEAM}/pods/{meta['name']}/status", status, content_type=MERGE)
        except ApiError:
            continue  # it is gone meanwhile


def end(server: ControlPlane, within: int = 30) -> None:
    """As a kubelet does: end the deleted Pods whose grace period is at most so many seconds."""
    for pod in pods(server):
        meta = pod["metadata"]
        if meta.get("deletionTimestamp") and meta.get("deletionGracePeriodSeconds", 0) <= within:
            path = f"{TEAM}/pods/{meta['name']}"
            with suppress(ApiError):  # it is gone meanwhile
                server.request("PATCH", path, {"metadata": {"finalizers": None}}, content_type=MERGE)
            with suppress(ApiError):
                server.request("DELETE", f"{path}?gracePeriodSeconds=0")


def running(server: ControlPlane) -> int:
    """Milli-CPU of the Pods that have a node and have not ended."""
    bound = [each for each in pods(server) if each["spec"].get("nodeName")]
    going = [each for each in bound if each["status"].get("phase") not in ("Succeeded", "Failed")]
    return sum(milli(each["spec"]["containers"][0]["resources"]["requests"]["cpu"]) for each in going)


def change(server: ControlPlane, name: str, body: dict[str, Any]) -> None:
    server.request("PATCH", f"{TEAM}/pods/{name}", body, user=TENANT, content_type=MERGE)


def slow_job(name: str, cpu: str, grace: int = 86400, **spec: Any) -> dict[str, Any]:
    """A job whose Pods may take a day to end."""
    made = job(name, cpu)
    made["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = grace
    made["spec"].update({"backoffLimit": 1000, **spec})
    return made


def started(server: ControlPlane, made: dict[str, Any]) -> list[str]:
    """Submit the job, and bind its Pods. Returns their names."""
    server.request("POST", JOBS, made, user=TENANT)
    count = made["spec"].get("parallelism", 1)
    eventually(lambda: len(pods(server)) == count)
    bind(server)
    return [each["metadata"]["name"] for each in pods(server)]


@pytest.mark.parametrize(
    "attack",
    [
        LET_GO,
        {"metadata": {"labels": {UID: "another"}}},
        {"metadata": {"ownerReferences": None}},
    ],
    ids=["without its labels", "with another uid", "without its owner"],
)
def test_a_pod_of_a_job_cannot_lose_its_uid_label_or_owner(server: ControlPlane, attack: dict[str, Any]) -> None:
    (name,) = started(server, slow_job("one", "2"))

    with pytest.raises(ApiError, match="quota-evaded"):
        change(server, name, attack)
    assert running(server) == QUOTA


def test_a_pod_released_by_its_job_uses_quota_until_it_is_ended(server: ControlPlane, guard: Guard) -> None:
    started(server, slow_job("one", "2"))
    guard.stop()
    try:
        for _ in range(ROUNDS):
            for pod in pods(server):
                if UID in pod["metadata"].get("labels", {}):
                    change(server, pod["metadata"]["name"], LET_GO)
            bind(server)
    finally:
        guard.start()
    submit(server, "next", "2")

    def undone() -> bool:
        assert not runs(server, "next")
        bind(server)
        end(server)
        return len(pods(server)) == 1 and running(server) == QUOTA

    def stopped() -> set[str]:
        events = server.request("GET", f"{TEAM}/events")["items"]
        return {each["involvedObject"]["kind"] for each in events if each["reason"] == "Stopped"}

    eventually(undone)
    eventually(lambda: "Pod" in stopped())


def test_a_pod_released_by_a_job_with_a_manual_selector_is_ended(server: ControlPlane) -> None:
    """Such a Job finds its Pods by labels of the tenant, which the webhook cannot know from the Pod."""
    made = slow_job("one", "2", manualSelector=True, selector={"matchLabels": {"app": "mine"}})
    made["spec"]["template"]["metadata"] = {"labels": {"app": "mine"}}
    (name,) = started(server, made)
    assert UID not in pods(server)[0]["metadata"]["labels"]

    change(server, name, {"metadata": {"labels": {"app": "other"}, "finalizers": None}})
    eventually(lambda: len(pods(server)) == 2)
    bind(server)
    submit(server, "next", "2")

    def undone() -> bool:
        assert not runs(server, "next")
        bind(server)
        end(server)
        return len(pods(server)) == 1 and running(server) == QUOTA

    eventually(undone)
    (left,) = pods(server)
    assert left["metadata"]["labels"]["app"] == "mine"


def test_no_job_is_admitted_into_the_quota_of_a_pod_released_by_its_job(server: ControlPlane, guard: Guard) -> None:
    (name,) = started(server, slow_job("one", "1"))
    guard.stop()
    try:
        change(server, name, LET_GO)
        eventually(lambda: len(pods(server)) == 2)
    finally:
        guard.start()
    submit(server, "next", "1")

    for _ in throughout(SECONDS):
        bind(server)
        assert not runs(server, "next")
    assert running(server) == QUOTA

    def starts() -> bool:
        end(server)
        return runs(server, "next")

    eventually(starts)


def test_a_pod_without_its_podset_label_and_workload_annotation_uses_quota(server: ControlPlane, guard: Guard) -> None:
    (name,) = started(server, slow_job("one", "2"))
    hidden = {"labels": {"kueue.x-k8s.io/podset": None}, "annotations": {"kueue.x-k8s.io/workload": None}}
    guard.stop()
    try:
        change(server, name, {"metadata": {**hidden, "finalizers": None, "ownerReferences": None}})
    finally:
        guard.start()
    server.request("DELETE", f"{JOBS}/one?propagationPolicy=Orphan", user=TENANT)
    submit(server, "next", "2")

    for _ in throughout(SECONDS):
        assert not runs(server, "next")
    eventually(lambda: "kueue.x-k8s.io/podset" in pods(server)[0]["metadata"]["labels"])
    server.request("DELETE", f"{TEAM}/pods/{name}?gracePeriodSeconds=0", user=TENANT)
    eventually(lambda: runs(server, "next"))


# --- a Workload that another job owns


def test_a_job_cannot_claim_the_workload_of_another_job_as_prebuilt(server: ControlPlane, guard: Guard) -> None:
    started(server, slow_job("one", "2"))
    (found,) = server.request("GET", f"{WORKLOADS}")["items"]
    thief = job("two", "2")
    thief["metadata"]["labels"]["kueue.x-k8s.io/prebuilt-workload-name"] = found["metadata"]["name"]
    with pytest.raises(ApiError, match="quota-evaded"):
        server.request("POST", JOBS, thief, user=TENANT)

    guard.stop()
    try:
        server.request("POST", JOBS, thief, user=TENANT)
        server.request("DELETE", f"{JOBS}/one?propagationPolicy=Orphan", user=TENANT)
        eventually(lambda: len(server.request("GET", JOBS)["items"]) == 1)
    finally:
        guard.start()
    submit(server, "next", "2")
    for _ in throughout(SECONDS):
        assert not runs(server, "next")
        assert not runs(server, "two")
    server.request("DELETE", f"{TEAM}/pods?gracePeriodSeconds=0", user=TENANT)
    eventually(lambda: runs(server, "next"))
    assert not runs(server, "two")


# --- Pods that take long to end


def test_a_resumed_job_waits_until_its_old_pods_have_ended(server: ControlPlane) -> None:
    started(server, slow_job("one", "1", parallelism=2, completions=2))
    for _ in range(ROUNDS):
        server.request("PATCH", f"{JOBS}/one", {"spec": {"suspend": True}}, user=TENANT, content_type=MERGE)
        for _ in throughout(SECONDS / 2):
            bind(server)
            assert running(server) <= QUOTA
    submit(server, "next", "2")
    assert not runs(server, "next")

    def again() -> bool:
        end(server, within=86400)
        bind(server)
        assert running(server) <= QUOTA
        return runs(server, "one") and running(server) == QUOTA

    eventually(again)


def test_a_job_waits_until_the_pods_of_a_deactivated_job_have_ended(server: ControlPlane) -> None:
    """A job that exceeds its maximum execution time is deactivated."""
    for name in ("one", "two", "three"):
        brief = slow_job(name, "2")
        brief["metadata"]["labels"]["kueue.x-k8s.io/max-exec-time-seconds"] = "1"
        server.request("POST", JOBS, brief, user=TENANT)
    eventually(lambda: pods(server))

    def deactivated() -> list[str]:
        found = server.request("GET", WORKLOADS)["items"]
        return [each["metadata"]["name"] for each in found if each["spec"].get("active") is False]

    def its_time_is_up() -> bool:
        bind(server)
        return bool(deactivated())

    eventually(its_time_is_up)
    for _ in throughout(SECONDS):
        bind(server)
        assert running(server) == QUOTA
    end(server, within=86400)

    def another_runs() -> bool:
        bind(server)
        return running(server) == QUOTA

    assert eventually(another_runs)


def test_deleted_pods_are_not_replaced_before_they_have_ended(server: ControlPlane) -> None:
    started(server, slow_job("one", "1", parallelism=2, completions=2))
    for pod in pods(server):
        server.request("DELETE", f"{TEAM}/pods/{pod['metadata']['name']}", user=TENANT)
    at_once = {"spec": {"podReplacementPolicy": "TerminatingOrFailed"}}
    with pytest.raises(ApiError, match="quota-evaded"):
        server.request("PATCH", f"{JOBS}/one", at_once, user=TENANT, content_type=MERGE)

    for _ in throughout(BACKOFF):
        bind(server)
        assert running(server) <= QUOTA

    def again() -> bool:
        end(server, within=86400)
        bind(server)
        assert running(server) <= QUOTA
        return sum(not each["metadata"].get("deletionTimestamp") for each in pods(server)) == 2

    eventually(again)


def test_a_job_that_shrinks_and_grows_stays_within_quota(server: ControlPlane) -> None:
    started(server, slow_job("one", "1", parallelism=2, completions=50))
    for _ in range(ROUNDS):
        for size in (1, 2):
            server.request("PATCH", f"{JOBS}/one", {"spec": {"parallelism": size}}, user=TENANT, content_type=MERGE)
            for _ in throughout(SECONDS / 4):
                bind(server)
                assert running(server) <= QUOTA
            if not runs(server, "one"):
                continue
    submit(server, "next", "1")
    for _ in throughout(SECONDS):
        bind(server)
        assert running(server) <= QUOTA


# --- Pods that grow


def resize(server: ControlPlane, name: str, cpu: str) -> None:
    larger = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}
    kind = "application/strategic-merge-patch+json"
    server.request("PATCH", f"{TEAM}/pods/{name}/resize", larger, user=TENANT, content_type=kind)


def test_a_pod_of_a_job_cannot_be_resized_to_more(server: ControlPlane, guard: Guard) -> None:
    resizer = ["create", "rolebinding", "resizer", "--clusterrole=resizer", f"--user={TENANT}", "-n", "team"]
    server.kubectl("create", "clusterrole", "resizer", "--verb=patch,update", "--resource=pods/resize")
    server.kubectl(*resizer)
    room = {"cpu": "100", "memory": "100Gi", "pods": "100"}
    capacity = {"status": {"capacity": room, "allocatable": room}}
    server.request("PATCH", "/api/v1/nodes/node/status", capacity, content_type=MERGE)
    (name,) = started(server, slow_job("one", "1"))

    with pytest.raises(ApiError, match="quota-evaded"):
        resize(server, name, "64")
    resize(server, name, "500m")
    guard.stop()
    try:
        resize(server, name, "64")
        eventually(lambda: pods(server)[0]["metadata"].get("deletionGracePeriodSeconds") == 30)
    finally:
        guard.start()

    def again() -> bool:
        end(server)
        bind(server)
        return running(server) == 1000 and len(pods(server)) == 1

    eventually(again)


# --- Pods that claim to be of a job


def forged(server: ControlPlane, name: str, workload: str, cpu: str = "0", **spec: Any) -> None:
    """A Pod of the tenant that claims the quota of this Workload; its controller did not create it."""
    labels, notes = {"kueue.x-k8s.io/podset": "main"}, {"kueue.x-k8s.io/workload": workload}
    owner = server.request("GET", f"{TEAM}/configmaps/kube-root-ca.crt")["metadata"]
    by = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["name"], "uid": owner["uid"], "controller": True}
    made = builders.pod(name, None, {"containers": [container(cpu=cpu)], **spec}, labels=labels, annotations=notes)
    made["metadata"]["ownerReferences"] = [by]
    server.request("POST", f"{TEAM}/pods", made, user=TENANT)


def test_forged_pods_of_a_job_do_not_use_quota_or_delay_other_jobs(server: ControlPlane) -> None:
    started(server, slow_job("one", "1", grace=30))
    gates = [{"name": "example.com/mine"}]
    for number in range(5):
        forged(server, f"forged-{number}", workload_of(server, "one"), schedulingGates=gates)
    loose = builders.pod(
        "loose",
        None,
        {"containers": [container(cpu="0")], "nodeName": "node"},
        labels={"kueue.x-k8s.io/podset": "main"},
        annotations={"kueue.x-k8s.io/workload": workload_of(server, "one")},
    )
    server.request("POST", f"{TEAM}/pods", loose, user=TENANT)

    submit(server, "two", "1")
    eventually(lambda: runs(server, "two"))

    server.request("DELETE", f"{JOBS}/two?propagationPolicy=Background")
    urgent = {**kueue("WorkloadPriorityClass", "urgent", {}), "value": 1000}
    server.request("POST", f"{KUEUE}/workloadpriorityclasses", urgent)
    preempts = job("three", "2")
    preempts["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "urgent"
    server.request("POST", JOBS, preempts, user=TENANT)

    def starts() -> bool:
        end(server)
        return runs(server, "three")

    eventually(starts, seconds=60.0)


def test_the_newest_pods_beyond_the_admitted_count_are_ended(server: ControlPlane) -> None:
    (real,) = started(server, slow_job("one", "1"))
    for number in range(3):
        forged(server, f"forged-{number}", workload_of(server, "one"), cpu="1")
    bind(server)
    assert running(server) == 4 * 1000

    def alone() -> bool:
        end(server)
        return [each["metadata"]["name"] for each in pods(server)] == [real]

    eventually(alone, seconds=40.0)


def test_the_podset_label_cannot_be_added_to_a_pod(server: ControlPlane) -> None:
    server.request(
        "POST", f"{TEAM}/pods", builders.pod("free", None, {"containers": [container(cpu="1")]}), user=TENANT
    )

    with pytest.raises(ApiError, match="quota-evaded"):
        change(server, "free", {"metadata": {"labels": {"kueue.x-k8s.io/podset": "main"}}})
