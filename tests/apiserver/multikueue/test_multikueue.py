"""MultiKueue over three real control planes: one manager and two workers, each with its own reconciler."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from tests.apiserver.jobs.job_kinds import JOB_SET
from tests.apiserver.multikueue.observer import Observer
from tests.apiserver.multikueue.storm import Storm
from tests.apiserver.multikueue.world import (
    CHECK,
    KUBECONFIGS,
    LOST_TIMEOUT,
    MERGE,
    SYSTEM,
    World,
    conditions,
    three_clusters,
    wait_out,
)
from tests.builders import cluster_queue, flavor, group, kueue, local_queue
from tests.profiles import spread
from tests.reconciler.jobs.pod_world import pod
from tests.waiting import eventually

NOW = "2026-01-01T00:00:00Z"
PLACEMENTS = int(os.environ.get("SOAK_PLACEMENTS", "0"))
"""The number of placements under random faults (`make soak-multikueue`); 0: a few, as in CI."""


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory, programs: object) -> Iterator[World]:
    with three_clusters(tmp_path_factory.mktemp("multikueue")) as world:
        yield world


@pytest.fixture
def world(clusters: World) -> Iterator[World]:
    yield clusters
    clusters.clean()


def check(world: World, job: str, namespace: str = "default") -> tuple[str, str]:
    """The state and message of the check of a job's workload."""
    for each in ((world.workload(job, namespace) or {}).get("status") or {}).get("admissionChecks", []):
        return each["state"], each["message"]
    return "", ""


def finished(world: World, job: str) -> tuple[str, str] | None:
    return conditions(world.workload(job)).get("Finished")


def job_status(world: World, job: str) -> dict[str, Any]:
    return dict((world.manager.get("Job", job) or {}).get("status") or {})


def _suspended(world: World, job: str) -> bool:
    return bool((world.manager.get("Job", job) or {})["spec"]["suspend"])


def reported(world: World, job: str, namespace: str = "default") -> str:
    return f"{world.workload(job, namespace)}\n{world.logs()}"


def alone(world: World, job: str) -> bool:
    return len(world.copies(job)) == 1


ACCOUNT = "system:serviceaccount:quotree-system:quotree-reconciler"


def may(world: World, verb: str, resource: str, namespace: str, name: str = "") -> bool:
    group, _, plural = resource.rpartition("/")
    asked = {"verb": verb, "group": group, "resource": plural, "namespace": namespace, "name": name}
    review = {"spec": {"user": ACCOUNT, "resourceAttributes": asked}}
    answer = world.manager.server.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    return bool(answer["status"]["allowed"])


def test_the_reconciler_may_read_only_its_certificate_and_the_kubeconfigs(world: World) -> None:
    verbs = ("get", "list", "watch", "update", "patch", "delete")
    allowed = {(verb, space) for verb in verbs for space in (SYSTEM, KUBECONFIGS) if may(world, verb, "secrets", space)}

    assert allowed == {("list", KUBECONFIGS), ("watch", KUBECONFIGS)}
    assert not any(may(world, verb, "secrets", SYSTEM, "quotree-webhook-certificate") for verb in verbs)
    assert may(world, "get", "secrets", SYSTEM, "quotree-reconciler-certificate")


def test_a_job_is_created_on_several_clusters_and_runs_where_it_is_admitted(world: World) -> None:
    world.quota("one", "0")
    world.submit("alone")
    assert world.runs("alone") == "two"
    eventually(lambda: world.copies("alone") == ["two"], lambda: reported(world, "alone"))
    eventually(lambda: check(world, "alone")[0] == "Ready", lambda: reported(world, "alone"))
    eventually(lambda: not _suspended(world, "alone"), lambda: reported(world, "alone"))


def test_a_gang_gets_its_topology_assignment_on_the_worker_only(world: World) -> None:
    rack, host = "example.com/rack", "kubernetes.io/hostname"
    for cluster in world.clusters:
        cluster.put(kueue("Topology", "racks", {"levels": [{"nodeLabel": rack}, {"nodeLabel": host}]}))
        cluster.put(kueue("ResourceFlavor", "racks", {"nodeLabels": {"pool": "racks"}, "topologyName": "racks"}))
        spec = cluster_queue("gangs", None, group("cpu", flavor("racks", cpu="9")))["spec"]
        if cluster is world.manager:
            spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": CHECK}]}
        cluster.put(kueue("ClusterQueue", "gangs", spec))
        cluster.put(local_queue("gangs", "gangs", None))
    worker = world.workers["two"]
    labels = {"pool": "racks", rack: "r1", host: "gpu-1"}
    worker.server.request("POST", "/api/v1/nodes", {"metadata": {"name": "gpu-1", "labels": labels}})
    worker.server.request("PATCH", "/api/v1/nodes/gpu-1", {"spec": {"taints": None}}, content_type=MERGE)
    ready = {"allocatable": {"cpu": "4", "pods": "9"}, "conditions": [{"type": "Ready", "status": "True"}]}
    worker.server.request("PATCH", "/api/v1/nodes/gpu-1/status", {"status": ready}, content_type=MERGE)
    try:
        world.submit("gang", queue_name="gangs", notes={"kueue.x-k8s.io/podset-required-topology": rack})
        assert world.runs("gang") == "two"

        def assigned() -> dict[str, Any]:
            (entry,) = (world.workload("gang") or {})["status"]["admission"]["podSetAssignments"]
            return dict(entry)

        eventually(lambda: assigned()["delayedTopologyRequest"] == "Ready", lambda: reported(world, "gang"))
        own = world.workload("gang") or {}
        there = worker.get("Workload", own["metadata"]["name"]) or {}
        (places,) = there["status"]["admission"]["podSetAssignments"]

        assert "topologyAssignment" not in assigned()
        assert places["topologyAssignment"]["levels"] == [host]
        eventually(lambda: conditions(world.workload("gang")).get("Admitted") == ("True", "Admitted"), world.logs)
    finally:
        world.remove("gang")
        for cluster in world.clusters:
            cluster.delete("LocalQueue", "gangs")
            eventually(lambda cluster=cluster: not cluster.names("Workload"), world.logs)  # type: ignore[misc]
            for kind, name in (("ClusterQueue", "gangs"), ("ResourceFlavor", "racks")):
                cluster.delete(kind, name)
        worker.server.request("DELETE", "/api/v1/nodes/gpu-1")


def test_a_job_admitted_by_two_clusters_at_once_runs_on_one(world: World) -> None:
    for number in range(5):
        world.submit(f"both-{number}")
    for job in (f"both-{number}" for number in range(5)):
        world.runs(job)
        assert eventually(partial(alone, world, job), world.logs)


def test_a_job_without_quota_on_all_workers_waits_with_the_reasons(world: World) -> None:
    for worker in world.workers:
        world.quota(worker, "0")
    world.submit("refused")
    eventually(lambda: world.copies("refused") == ["one", "two"], lambda: reported(world, "refused"))
    eventually(lambda: "one" in check(world, "refused")[1] and "two" in check(world, "refused")[1], world.logs)
    assert check(world, "refused")[0] == "Pending"
    world.quota("two", "4")
    assert world.runs("refused") == "two"


def test_a_worker_without_the_namespace_is_reported_and_another_runs_the_job(world: World) -> None:
    for cluster in (world.manager, world.workers["two"]):
        cluster.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-b"}})
        cluster.put(local_queue("main", "team", None), "team-b")
    world.quota("two", "0")
    world.submit("elsewhere", namespace="team-b")
    said = "one has no namespace team-b"
    eventually(lambda: said in check(world, "elsewhere", "team-b")[1], lambda: reported(world, "elsewhere", "team-b"))
    world.quota("two", "4")
    assert world.runs("elsewhere", "team-b") == "two"
    world.remove("elsewhere", "team-b")


def test_a_worker_without_the_queues_is_reported_and_another_runs_the_job(world: World) -> None:
    for cluster in world.clusters:
        cluster.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-c"}})
    for cluster in (world.manager, world.workers["two"]):
        cluster.put(local_queue("main", "team", None), "team-c")
    world.quota("two", "0")
    world.submit("queueless", namespace="team-c")
    eventually(
        lambda: "LocalQueue" in check(world, "queueless", "team-c")[1], lambda: reported(world, "queueless", "team-c")
    )
    world.workers["one"].put(local_queue("main", "nothing", None), "team-c")
    eventually(
        lambda: "nothing" in check(world, "queueless", "team-c")[1], lambda: reported(world, "queueless", "team-c")
    )
    world.quota("two", "4")
    assert world.runs("queueless", "team-c") == "two"
    world.remove("queueless", "team-c")


@pytest.mark.parametrize("how", ["frozen", "refused", pytest.param("silent", marks=pytest.mark.nightly)])
def test_a_job_of_a_lost_worker_moves_to_another_after_the_timeout(world: World, how: Any) -> None:
    world.quota("two", "0")
    world.submit("lost")
    assert world.runs("lost") == "one"
    world.quota("two", "4")
    lost = time.monotonic()
    lose(world, "one", how)
    eventually(lambda: not world.connected("one"), world.logs)
    found = "one", "Ready"
    while time.monotonic() < lost + LOST_TIMEOUT - 1:  # after that it may move; conditions have whole seconds
        assert found == ("one", "Ready")
        wait_out(0.2)
        found = world.placed("lost"), check(world, "lost")[0]
    eventually(lambda: world.placed("lost") == "two", lambda: reported(world, "lost"), 60)
    find(world, "one", how)
    eventually(lambda: world.connected("one"), world.logs, 60)
    eventually(lambda: world.copies("lost") == ["two"], lambda: reported(world, "lost"), 60)
    assert world.running("lost") == ["two"]


def test_a_job_does_not_move_when_its_worker_is_lost_briefly(world: World) -> None:
    world.quota("two", "0")
    world.submit("brief")
    assert world.runs("brief") == "one"
    world.quota("two", "4")
    world.workers["one"].partition.turn("refused")
    eventually(lambda: not world.connected("one"), world.logs)
    world.workers["one"].partition.turn("open")
    eventually(lambda: world.connected("one"), world.logs)
    wait_out(LOST_TIMEOUT)
    assert (world.running("brief"), world.placed("brief")) == (["one"], "one")


def test_a_job_deleted_on_its_worker_is_requeued(world: World) -> None:
    world.submit("deleted")
    where = world.runs("deleted")
    uid = world.workers[where].get("Job", "deleted")["metadata"]["uid"]  # type: ignore[index]
    world.workers[where].delete("Job", "deleted")
    world.workers[where].delete("Workload", world.workload("deleted")["metadata"]["name"])  # type: ignore[index]

    def again() -> bool:
        found = [world.workers[name].get("Job", "deleted") for name in world.running("deleted")]
        return len(found) == 1 and found[0] is not None and found[0]["metadata"]["uid"] != uid

    assert eventually(again, lambda: reported(world, "deleted"), 60)


def test_a_second_run_finishes_after_failed_pods_of_the_first(world: World) -> None:
    world.submit("twice", backoff_limit=6)
    where = world.runs("twice")
    first = world.workers[where].get("Job", "twice") or {}
    world.workers[where].patch("Job", "twice", {"status": {"failed": 2}}, sub="/status")
    eventually(lambda: (job_status(world, "twice").get("failed")) == 2, lambda: reported(world, "twice"))
    world.workers[where].delete("Job", "twice")

    def again() -> str:
        found = {name: world.workers[name].get("Job", "twice") for name in world.running("twice")}
        fresh = [name for name, each in found.items() if each and each["metadata"]["uid"] != first["metadata"]["uid"]]
        return next(iter(fresh), "")

    world.end(str(eventually(again, lambda: reported(world, "twice"), 60)), "twice", "Succeeded")
    eventually(lambda: finished(world, "twice") == ("True", "Succeeded"), lambda: reported(world, "twice"))
    assert eventually(lambda: job_status(world, "twice").get("failed") == 2, lambda: reported(world, "twice"))


def test_a_run_restarted_while_the_manager_is_down_is_followed_to_its_end(world: World) -> None:
    world.submit("anew")
    where = world.runs("anew")
    worker = world.workers[where]
    began = eventually(lambda: job_status(world, "anew").get("startTime"), lambda: reported(world, "anew"))
    world.manager.process.end()

    def moved() -> bool:
        """The worker restarts a Job that was suspended on the worker."""
        status = (worker.get("Job", "anew") or {}).get("status", {})
        if status.get("startTime") == began:
            worker.patch("Job", "anew", {"spec": {"suspend": True}})
        return bool(status.get("active")) and status.get("startTime") not in (None, began)

    eventually(moved, lambda: reported(world, "anew"))
    world.release()
    world.manager.process.start()
    world.end(where, "anew", "Succeeded")
    eventually(lambda: finished(world, "anew") == ("True", "Succeeded"), lambda: reported(world, "anew"))
    assert job_status(world, "anew")["startTime"] == began


@pytest.mark.parametrize(("phase", "kind"), [("Succeeded", "Complete"), ("Failed", "Failed")])
def test_a_job_finished_on_its_worker_finishes_here_and_its_copy_is_gone(world: World, phase: str, kind: str) -> None:
    world.submit("over")
    world.end(world.runs("over"), "over", phase)
    eventually(lambda: finished(world, "over") == ("True", phase), lambda: reported(world, "over"))
    eventually(lambda: world.copies("over") == [], lambda: reported(world, "over"))

    def told() -> list[str]:
        return [each["type"] for each in job_status(world, "over").get("conditions", [])]

    assert eventually(lambda: kind in told(), lambda: reported(world, "over"))


def test_the_last_of_many_quick_status_changes_reaches_the_manager(world: World) -> None:
    world.submit("busy")
    where = world.workers[world.runs("busy")]
    pod = world.pod(where.name, "busy")
    for count in range(31):
        ready = {"type": "Ready", "status": "False" if count % 2 else "True"}
        where.patch("Pod", pod, {"status": {"phase": "Running", "conditions": [ready]}}, sub="/status")

    def arrived() -> bool:
        status = (world.manager.get("Job", "busy") or {}).get("status", {})
        return (status.get("active"), status.get("ready")) == (1, 1)

    assert eventually(arrived, lambda: reported(world, "busy"))


def test_a_running_job_finishes_after_a_kubeconfig_rotation(world: World) -> None:
    world.submit("running")
    where = world.runs("running")
    for worker in world.workers:
        world.put_login(worker, world.login(worker))
    world.submit("next")
    world.runs("next")
    world.end(where, "running", "Succeeded")
    eventually(lambda: finished(world, "running") == ("True", "Succeeded"), lambda: reported(world, "running"))
    assert eventually(world.connected, world.logs)


def test_a_job_deleted_or_deactivated_on_the_manager_is_deleted_on_its_worker(world: World) -> None:
    world.submit("gone")
    world.submit("paused")
    world.runs("gone")
    world.runs("paused")
    name = world.workload("gone")["metadata"]["name"]  # type: ignore[index]
    world.manager.delete("Job", "gone")
    world.manager.delete("Workload", name)
    world.manager.patch("Workload", world.workload("paused")["metadata"]["name"], {"spec": {"active": False}})  # type: ignore[index]
    eventually(lambda: not any(worker.names("Job") for worker in world.workers.values()), world.logs)
    assert eventually(lambda: not any(worker.names("Workload") for worker in world.workers.values()), world.logs)


def lose(world: World, worker: str, how: Any) -> None:
    if how == "frozen":
        world.workers[worker].freeze()
    else:
        world.workers[worker].partition.turn(how)


def find(world: World, worker: str, how: Any) -> None:
    if how == "frozen":
        world.workers[worker].thaw()
    else:
        world.workers[worker].partition.turn("open")


def test_a_job_set_is_copied_run_and_finished(world: World) -> None:
    meta = {"name": "set", "labels": {"kueue.x-k8s.io/queue-name": "main"}}
    spec = {**JOB_SET.spec, "suspend": True, "managedBy": "kueue.x-k8s.io/multikueue"}
    world.manager.put({"apiVersion": JOB_SET.version, "kind": "JobSet", "metadata": meta, "spec": spec})
    eventually(lambda: world.placed("set"), lambda: reported(world, "set"))

    def started() -> str:  # if its worker is lost at the start, it is placed again
        placed = world.placed("set")
        there = world.workers[placed].get("JobSet", "set") if placed else None
        return placed if there is not None and not there["spec"]["suspend"] else ""

    where = world.workers[eventually(started, world.logs)]
    where.patch("JobSet", "set", {"status": JOB_SET.running}, sub="/status")

    def arrived() -> bool:
        return bool((world.manager.get("JobSet", "set") or {}).get("status") == JOB_SET.running)

    eventually(arrived, lambda: reported(world, "set"))
    where.patch("JobSet", "set", {"status": JOB_SET.done}, sub="/status")
    eventually(lambda: finished(world, "set") == ("True", "Succeeded"), lambda: reported(world, "set"))
    assert eventually(lambda: not where.names("JobSet") and not where.names("Workload"), world.logs)


def test_a_worker_admits_a_job_once_its_own_admission_check_is_ready(world: World) -> None:
    world.quota("one", "0")
    two = world.workers["two"]
    two.put(kueue("AdmissionCheck", "new-nodes", {"controllerName": "example.dev/new-nodes"}))
    active = {"type": "Active", "status": "True", "reason": "Active", "message": "", "lastTransitionTime": NOW}
    two.patch("AdmissionCheck", "new-nodes", {"status": {"conditions": [active]}}, sub="/status")
    asked = {"admissionChecks": [{"name": "new-nodes"}]}
    two.patch("ClusterQueue", "team", {"spec": {"admissionChecksStrategy": asked}})
    try:
        world.submit("patient")
        name = str(eventually(lambda: (world.workload("patient") or {}).get("metadata", {}).get("name")))
        eventually(lambda: "QuotaReserved" in conditions(two.get("Workload", name)), lambda: reported(world, "patient"))
        wait_out(2)
        assert (world.placed("patient"), check(world, "patient")[0]) == ("", "Pending")
        ready = {"name": "new-nodes", "state": "Ready", "message": "", "lastTransitionTime": NOW}
        two.patch("Workload", name, {"status": {"admissionChecks": [ready]}}, sub="/status")
        assert world.runs("patient") == "two"
    finally:
        two.patch("ClusterQueue", "team", {"spec": {"admissionChecksStrategy": None}})
        two.delete("AdmissionCheck", "new-nodes")


def pod_there(world: World, worker: str, name: str) -> dict[str, Any] | None:
    """The Pod on the worker, once it may be scheduled there."""
    found = world.workers[worker].get("Pod", name) if worker else None
    return found if found is not None and not found["spec"].get("schedulingGates") else None


def tell_pod(world: World, worker: str, name: str, phase: str) -> None:
    """Write the status that a node would write."""
    state = {"running": {}} if phase == "Running" else {"terminated": {"exitCode": 0, "reason": "Completed"}}
    reported = {
        "name": "c",
        "image": "i",
        "imageID": "i",
        "ready": phase == "Running",
        "restartCount": 0,
        "state": state,
    }
    ready = [{"type": each, "status": "True"} for each in ("PodScheduled", "Ready")]
    status = {"phase": phase, "podIP": "10.1.2.3", "conditions": ready, "containerStatuses": [reported]}
    world.workers[worker].patch("Pod", name, {"status": status}, sub="/status")


def here(world: World, name: str) -> tuple[str, str, bool]:
    """The Pod on the manager: its phase, the state of its container, and whether it is gated."""
    found = world.manager.get("Pod", name) or {"spec": {}, "status": {}}
    (state,) = found["status"].get("containerStatuses", [{"state": {"": {}}}])
    return found["status"].get("phase", ""), next(iter(state["state"])), "schedulingGates" in found["spec"]


def submit_pods(world: World, *names: str, group: str = "") -> None:
    for name in names:
        made = pod(name, group, len(names), queue_name="main")
        spec = {**made["spec"], "restartPolicy": "Never"}
        meta = {key: value for key, value in made["metadata"].items() if key != "namespace"}
        world.manager.put({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})


def remove_pods(world: World, *names: str) -> None:
    own = world.workload(names[0])
    for name in names:
        world.manager.delete("Pod", name)
    if own is not None:
        world.manager.delete("Workload", own["metadata"]["name"])
    for cluster in world.clusters:
        eventually(partial(lambda each: not set(names) & set(each.names("Pod")), cluster), world.logs)


def test_a_pod_runs_on_a_worker_and_its_gated_original_gets_the_status(world: World) -> None:
    submit_pods(world, "lone")
    eventually(lambda: pod_there(world, world.placed("lone"), "lone"), lambda: reported(world, "lone"))
    where = world.placed("lone")
    tell_pod(world, where, "lone", "Running")
    eventually(lambda: here(world, "lone") == ("Running", "running", True), lambda: reported(world, "lone"))
    assert "podIP" not in world.manager.get("Pod", "lone")["status"]  # type: ignore[index]
    assert check(world, "lone")[0] == "Ready"
    tell_pod(world, where, "lone", "Succeeded")
    eventually(lambda: here(world, "lone") == ("Succeeded", "terminated", True), lambda: reported(world, "lone"))
    eventually(lambda: finished(world, "lone") == ("True", "Succeeded"), lambda: reported(world, "lone"))
    eventually(lambda: not any("lone" in each.names("Pod") for each in world.workers.values()), world.logs)
    remove_pods(world, "lone")


def test_a_pod_group_is_requeued_when_a_pod_is_deleted_on_its_worker(world: World) -> None:
    submit_pods(world, "left", "right", group="pair")

    def both() -> set[str]:
        found = [pod_there(world, world.placed("left"), name) for name in ("left", "right")]
        return {each["metadata"]["uid"] for each in found if each is not None} if all(found) else set()

    before = eventually(both, lambda: reported(world, "left"))
    where = world.placed("left")
    for name in ("left", "right"):
        tell_pod(world, where, name, "Running")
    eventually(lambda: here(world, "right")[0] == "Running", lambda: reported(world, "left"))
    world.workers[where].delete("Pod", "right")
    eventually(lambda: both() and not both() & before, lambda: reported(world, "left"), 60)
    waiting = [("Pending", "", True)] * 2
    assert eventually(
        lambda: [here(world, name) for name in ("left", "right")] == waiting, lambda: reported(world, "left")
    )
    remove_pods(world, "left", "right")


@pytest.fixture
def observer(world: World) -> Iterator[Observer]:
    watching = Observer(world.manager.server, {name: each.server for name, each in world.workers.items()})
    watching.start()
    yield watching
    watching.stop()


def test_jobs_run_exactly_once_after_the_manager_is_killed_at_any_write(world: World, observer: Observer) -> None:
    for worker in world.workers:
        world.quota(worker, "20")
    world.manager.process.end()
    steps = spread(range(1, 13), 0.3)
    for step in steps:
        world.submit(f"killed-{step}")
        world.release()
        world.manager.process.start(die_at=step)
        eventually(lambda: world.manager.process.dead, world.logs, 60)
        world.manager.process.end()
    world.release()
    world.manager.process.start()
    for job in (f"killed-{step}" for step in steps):
        where = world.runs(job)
        eventually(partial(alone, world, job), world.logs, 60)
        assert [where] == observer.workers_of(job), reported(world, job)
    assert list(observer.two_winners()) == []


def test_jobs_do_not_run_twice_under_random_faults(world: World, observer: Observer) -> None:
    seed = int(os.environ.get("SOAK_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
    storm = Storm(world, observer, PLACEMENTS or 12, random.Random(seed))
    print(f"SOAK_SEED={seed}")
    storm.run(60 + 6.0 * storm.placements)
    print(f"{len(observer.runs)} placements, faults: {storm.faults}")
    assert list(observer.double_runs(LOST_TIMEOUT, 60)) == []
    assert list(observer.two_winners()) == []
