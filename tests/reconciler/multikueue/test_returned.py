"""A worker that reconnects after workerLostTimeout: its job continues if the manager has quota for it."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.actions import Action
from reconciler.objects.observed import Key
from scheduling.objects.times import SECOND
from scheduling.placement.settings import PlacementSettings
from tests.reconciler.multikueue.three_clusters import World3, job, queues

LOST = 300


def lost(manager_cpus: int = 8) -> World3:
    """A job of 4 CPUs runs on east, and east is unreachable until its timeout; no other worker has room."""
    world = World3(PlacementSettings(worker_lost=LOST * SECOND))
    queues(world.manager.server, "multi", manager_cpus)
    queues(world.workers["west"].server, cpus=0)
    world.settle(seconds=2)
    world.submit("train", 4)
    assert world.runs_on() == ["east"]
    world.report("east", {"active": 1})
    world.links.lose("east")
    return world


def pass_time(world: World3, seconds: int = LOST + 2) -> None:
    """The time passes, and what is due within the next seconds is done."""
    world.settle(seconds=seconds)
    world.settle(seconds=2)


def back(world: World3) -> None:
    world.links.connect("east")
    world.settle()


def deletions(world: World3, cluster: str = "east") -> list[Any]:
    return [key for verb, key in world.workers[cluster].server.writes if verb == "Delete"]


def lose_again(world: World3) -> None:
    """The job is lost once more, so often by now that it waits for a backoff after that."""
    found = world.workload()
    assert found is not None
    (check,) = found["status"]["admissionChecks"]
    status = {**found["status"], "admissionChecks": [{**check, "retryCount": 20}]}
    world.manager.server.add("Workload", {**found, "status": status})
    world.settle()
    world.links.lose("east")


def cluster_name(world: World3, name: str = "train") -> str:
    found = next(
        manifest
        for (kind, _), manifest in world.manager.server.objects.items()
        if kind == "Workload" and manifest["metadata"]["ownerReferences"][0]["name"] == name
    )
    return str(found["status"].get("clusterName") or "")


def test_a_reconnected_worker_keeps_its_job_with_quota_on_the_manager() -> None:
    world = lost()
    pass_time(world)
    assert cluster_name(world) == "", "it waits for another worker"
    back(world)

    assert cluster_name(world) == "east"
    assert world.check() == ("Ready", 'The workload was admitted on "east"')
    assert world.runs_on() == ["east"]
    assert deletions(world) == []


def test_a_reconnected_worker_loses_its_job_without_quota_on_the_manager() -> None:
    world = lost(manager_cpus=4)
    queues(world.workers["west"].server)
    world.manager.server.add("Job", job("next", 4))
    pass_time(world)
    assert world.runs_on("next") == ["west"], "it took the quota that was given up"
    back(world)

    assert world.job("east") is None
    assert world.workload("east") is None
    world.report("west", {"conditions": [{"type": "Complete", "status": "True"}]}, "next")
    world.settle(seconds=70)
    assert len(world.runs_on()) == 1, "it runs again when there is quota"


def test_a_workload_that_was_not_tried_yet_keeps_its_job() -> None:
    world = lost()
    pass_time(world)
    back(world)
    lose_again(world)
    pass_time(world)
    assert requeue_at(world), "it waits for a backoff"
    back(world)
    assert cluster_name(world) == ""
    assert deletions(world) == []
    world.settle(seconds=LOST - 1)

    assert cluster_name(world) == "east"
    assert world.runs_on() == ["east"]
    assert deletions(world) == []


def test_a_restarted_manager_makes_the_same_decision() -> None:
    world = lost()
    pass_time(world)
    back(world)
    lose_again(world)
    pass_time(world)
    back(world)
    world.manager.start(world.clock)
    world.settle()
    assert deletions(world) == []
    world.settle(seconds=LOST - 1)

    assert cluster_name(world) == "east"
    assert deletions(world) == []


def test_a_workload_that_is_never_tried_loses_its_job_after_the_timeout() -> None:
    world = lost()
    pass_time(world)
    back(world)
    lose_again(world)
    world.manager.server.add("Job", job("huge", 8))
    pass_time(world)
    local = world.workload()
    assert local is not None
    status = {**local["status"], "requeueState": {"count": 1, "requeueAt": "2027-01-16T08:00:00Z"}}
    world.manager.server.add("Workload", {**local, "status": status})
    world.settle()
    back(world)
    assert deletions(world) == []

    pass_time(world)
    assert world.job("east") is None


def test_a_job_that_runs_on_another_worker_is_deleted_on_reconnect() -> None:
    world = lost()
    queues(world.workers["west"].server)
    pass_time(world)
    assert cluster_name(world) == "west"
    back(world)

    assert world.runs_on() == ["west"]
    assert world.job("east") is None


def test_a_deactivated_job_is_deleted_on_reconnect() -> None:
    world = lost()
    local = world.workload()
    assert local is not None
    world.manager.server.add("Workload", {**local, "spec": {**local["spec"], "active": False}})
    pass_time(world)
    back(world)

    assert world.job("east") is None
    assert world.workload("east") is None


def requeue_at(world: World3) -> str:
    local = world.workload()
    assert local is not None
    return str((local["status"].get("requeueState") or {}).get("requeueAt") or "")


def test_a_worker_that_is_back_during_the_eviction_keeps_its_job() -> None:
    """The manager crashes after it has given the worker up, and the next manager reconnects."""
    world = lost()
    jobs = world.manager.server
    world.now += (LOST + 2) * SECOND
    while not evicted(world):
        world.manager.loop.round(0)
    assert (jobs.objects["Job", "ns/train"]["status"] or {}).get("active"), "it is not released yet"
    world.now += SECOND
    world.manager.start(world.clock)
    back(world)
    world.settle(seconds=15)

    assert cluster_name(world) == "east"
    assert world.runs_on() == ["east"]
    assert deletions(world) == []


def test_a_worker_that_reconnects_during_a_preemption_stops_its_job() -> None:
    world = lost()
    jobs = world.manager.server
    local = world.workload()
    assert local is not None
    gone = [each for each in local["status"]["conditions"] if each["type"] != "Evicted"]
    since = "2027-01-15T08:00:00Z"
    preempted = {"type": "Evicted", "status": "True", "reason": "Preempted", "message": "", "lastTransitionTime": since}
    jobs.add("Workload", {**local, "status": {**local["status"], "conditions": [*gone, preempted]}})
    world.settle(seconds=5)
    back(world)

    there = world.job("east")
    assert there is not None
    assert there["spec"]["suspend"]


def evicted(world: World3) -> bool:
    local = world.workload()
    assert local is not None
    return any(each["type"] == "Evicted" and each["status"] == "True" for each in local["status"]["conditions"])


@pytest.mark.parametrize("answered", [True, False], ids=["answer lost", "request lost"])
@pytest.mark.parametrize("number", range(1, 5))
def test_one_job_runs_after_the_connection_breaks_at_any_write(number: int, answered: bool) -> None:
    """The worker of the write stays unreachable until its timeout, and for some time after that."""
    world = World3(PlacementSettings(worker_lost=LOST * SECOND))
    send, sent = world.links.write, 0

    def cut(cluster: str, key: Key, action: Action) -> None:
        nonlocal sent
        sent += 1
        if sent == number:
            if answered:
                world.workers[cluster].server.perform(key, action)
            world.links.lose(cluster)
        send(cluster, key, action)

    world.links.write = cut  # type: ignore[method-assign]
    world.submit("train")
    for cluster in world.runs_on():
        world.report(cluster, {"active": 1})
    pass_time(world)
    pass_time(world, 70)
    for cluster in ("east", "west"):
        if cluster in world.links.cut:
            world.links.connect(cluster)
    for _ in range(3):
        world.settle(seconds=70)

    assert sent >= number
    (where,) = world.runs_on()
    other = {"east": "west", "west": "east"}[where]
    assert (world.job(other), world.workload(other)) == (None, None)
    assert world.check() == ("Ready", f'The workload was admitted on "{where}"')


def test_a_job_that_ended_while_its_worker_was_unreachable_is_finished() -> None:
    world = lost(manager_cpus=4)
    queues(world.workers["west"].server)
    world.manager.server.add("Job", job("next", 4))
    pass_time(world)
    assert world.runs_on("next") == ["west"], "there is no quota for it here"
    ended = [{"type": "Complete", "status": "True", "message": "done"}]
    world.report("east", {"conditions": ended})
    back(world)

    here = world.job()
    assert here is not None
    assert here["status"]["conditions"] == ended
    (finished,) = (
        each
        for (kind, _), manifest in world.manager.server.objects.items()
        if kind == "Workload" and manifest["metadata"]["ownerReferences"][0]["name"] == "train"
        for each in manifest["status"]["conditions"]
        if each["type"] == "Finished"
    )
    assert (finished["reason"], finished["message"]) == ("Succeeded", "done")
    assert world.job("east") is None
