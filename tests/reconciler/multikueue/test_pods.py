"""Pods and groups of Pods that run on other clusters: three loops in memory, nodes are played."""

from __future__ import annotations

import pytest

from tests.merging import merged
from tests.reconciler.jobs.world import K
from tests.reconciler.multikueue.pods_on_three_clusters import MADE_FOR, Pods3, gated, going
from tests.reconciler.multikueue.three_clusters import queues


def test_a_pod_runs_on_one_worker_and_stays_gated_on_the_manager() -> None:
    pods = Pods3("p")

    assert pods.on() == {"east": ["p"]}
    found = pods.pods("east")["p"]
    workload = pods.workload()
    assert workload is not None
    assert found["metadata"]["annotations"][MADE_FOR] == workload["metadata"]["name"]
    assert found["metadata"]["labels"][f"{K}multikueue-origin"] == "multikueue"
    assert not gated(found)
    assert pods.gated() == ["p"]
    assert pods.world.check()[0] == "Ready"
    assert pods.workload("west") is None


def test_the_status_of_a_pod_is_copied_without_its_address() -> None:
    pods = Pods3("p")
    pods.run("p")

    status = pods.pods()["p"]["status"]
    assert status["phase"] == "Running"
    assert {"type": "Ready", "status": "True"} in status["conditions"]
    assert "podIP" not in status
    assert pods.gated() == ["p"]


def test_an_unschedulable_pod_of_a_worker_is_shown_as_gated() -> None:
    """An autoscaler of this cluster would create a node for a Pod with the reason Unschedulable."""
    pods = Pods3("p")
    no_node = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
    pods.tell(pods.there, {"status": {"phase": "Pending", "conditions": [no_node]}}, "p")

    (shown,) = pods.pods()["p"]["status"]["conditions"]
    assert (shown["type"], shown["status"], shown["reason"]) == ("PodScheduled", "False", "SchedulingGated")
    pods.world.settle(seconds=2)
    assert [kind for kind, key in pods.here.writes if key == ("Pod", "ns/p")] == ["Patch"], "it is written once"
    pods.run("p")
    assert {"type": "PodScheduled", "status": "True"} in pods.pods()["p"]["status"]["conditions"]


@pytest.mark.parametrize("since", ["2027-01-15T07:00:00Z", None])
def test_a_pod_that_waits_for_a_node_of_its_worker_keeps_the_condition_of_the_api_server(since: str | None) -> None:
    """Only the time of the condition differs. Such a write had no effect, and an Event on the Pod reported that."""
    pods = Pods3("p")
    times = {"lastProbeTime": None, "lastTransitionTime": since, "observedGeneration": 1}
    gate = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", **times}
    gate |= {"message": "Scheduling is blocked due to non-empty scheduling gates"}
    pods.tell(pods.here, {"status": {"phase": "Pending", "conditions": [gate]}}, "p")
    no_node = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
    pods.tell(pods.there, {"status": {"phase": "Pending", "conditions": [no_node]}}, "p")

    assert [kind for kind, key in pods.here.writes if key == ("Pod", "ns/p")] == []
    assert pods.pods()["p"]["status"]["conditions"] == [gate]


def test_a_finished_pod_finishes_its_workload_on_both_clusters() -> None:
    for phase in ("Succeeded", "Failed"):
        pods = Pods3("p")
        pods.run("p")
        pods.end(phase, "p")

        assert pods.pods()["p"]["status"]["phase"] == phase
        assert pods.finished() == phase
        pods.nodes()
        assert pods.on() == {}
        assert pods.workload("east") is None


def test_a_pod_shows_its_end_if_its_workload_event_comes_first() -> None:
    pods = Pods3("p")
    pods.run("p")
    pods.world.links.late = {"Pod"}
    pods.end("Succeeded", "p")
    pods.world.settle(seconds=1)
    assert pods.finished() == ""
    pods.world.links.catch_up()
    pods.world.settle()

    assert pods.pods()["p"]["status"]["phase"] == "Succeeded"
    assert pods.finished() == "Succeeded"
    pods.nodes()
    assert pods.on() == {}


def test_a_workload_finished_on_its_worker_is_finished_without_a_pod_event() -> None:
    pods = Pods3("p")
    pods.run("p")
    pods.world.links.late = {"Pod"}
    pods.end("Succeeded", "p")
    pods.world.settle(seconds=11)
    assert pods.finished() == "Succeeded"

    pods.world.links.catch_up()
    pods.world.settle(seconds=2)
    assert pods.pods()["p"]["status"]["phase"] == "Succeeded"
    pods.nodes()
    assert pods.on() == {}


def test_a_pod_is_deleted_once_without_a_watch_event() -> None:
    pods = Pods3("a", "b", group="g")
    pods.run("a", "b")
    pods.world.links.late = {"Pod"}
    there = pods.there
    pods.here.remove(("Pod", "ns/a"))
    pods.world.settle(seconds=2)

    assert there.writes.count(("Delete", ("Pod", "ns/a"))) == 1


def test_all_pods_of_a_group_run_on_the_same_worker_in_their_roles() -> None:
    pods = Pods3("a", "b", group="g")

    assert pods.on() == {"east": ["a", "b"]}
    assert pods.gated() == ["a", "b"]
    clone = pods.workload("east")
    assert clone is not None
    roles = {each["metadata"]["annotations"][f"{K}role-hash"] for each in pods.pods("east").values()}
    assert roles == {each["name"] for each in clone["spec"]["podSets"]}
    assert not any(map(gated, pods.pods("east").values()))

    pods.run("a", "b")
    pods.end("Succeeded", "a")
    assert pods.finished() == ""
    pods.end("Succeeded", "b")
    assert pods.finished() == "Succeeded"
    pods.nodes()
    assert pods.on() == {}


def test_a_replacement_pod_is_created_on_the_worker() -> None:
    pods = Pods3("a", "b", group="g")
    pods.run("a", "b")
    pods.end("Failed", "b")
    assert pods.pods()["b"]["status"]["phase"] == "Failed"
    pods.create("c", "g", 2)
    pods.world.settle()
    pods.nodes()

    assert "c" in pods.on()["east"]
    assert not gated(pods.pods("east")["c"])
    assert "c" in pods.gated()


def test_a_deleted_pod_is_deleted_on_its_worker() -> None:
    pods = Pods3("a", "b", group="g")
    pods.run("a", "b")
    pods.here.remove(("Pod", "ns/b"))
    pods.world.settle()

    assert pods.on() == {"east": ["a"]}
    pods.create("c", "g", 2)
    pods.world.settle()
    pods.nodes()
    assert pods.on() == {"east": ["a", "c"]}
    assert pods.world.check()[0] == "Ready"


def test_a_deleted_workload_leaves_no_pods_on_its_worker() -> None:
    pods = Pods3("a", "b", group="g")
    pods.run("a", "b")
    pods.here.remove(("Workload", "ns/g"))
    pods.world.settle()
    pods.nodes()

    assert pods.on() == {}
    assert pods.workload("east") is None
    assert pods.pods() == {}


def test_the_deleted_copy_of_a_group_has_a_finalizer_while_it_has_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kueue on the worker removes the finalizers of the Pods only as long as it can read the deleted Workload."""
    pods = Pods3("a", "b", group="g")
    pods.run("a", "b")
    worker = pods.there
    monkeypatch.setattr(pods.world.workers["east"].loop, "round", lambda _: None)
    key = ("Workload", "ns/g")
    in_use = f"{K}resource-in-use"
    worker.add("Workload", merged(worker.objects[key], {"metadata": {"finalizers": None}}))
    pods.here.remove(key)
    pods.world.settle()
    for name in ("a", "b"):
        assert going(pods.pods("east")[name])
        ended = {"metadata": {"finalizers": [f"{K}managed"]}, "status": {"phase": "Failed"}}
        pods.tell(worker, ended, name)
    pods.world.settle(seconds=2)

    assert going(worker.objects[key])
    assert worker.objects[key]["metadata"]["finalizers"] == [in_use]

    for name in ("a", "b"):
        pods.tell(worker, {"metadata": {"finalizers": None}}, name)
    pods.world.settle(seconds=2)
    assert key not in worker.objects


def test_pods_deleted_on_their_worker_are_queued_again() -> None:
    for names, group in ((("p",), ""), (("a", "b"), "g")):
        pods = Pods3(*names, group=group)
        pods.run(*names)
        pods.there.remove(("Pod", f"ns/{names[-1]}"))
        pods.world.settle()
        for _ in range(5):
            pods.nodes()

        assert pods.on() == {"east": [*names]}
        assert not any(map(gated, pods.pods("east").values()))
        assert pods.gated() == [*names]
        assert [each["status"]["phase"] for each in pods.pods().values()] == ["Pending"] * len(names)


def test_quota_is_kept_until_pods_on_the_worker_have_ended() -> None:
    pods = Pods3("a", "b", group="g")
    pods.run("a", "b")
    found = pods.workload()
    assert found is not None
    pods.here.add("Workload", merged(found, {"spec": {"active": False}}))
    pods.world.settle()

    assert pods.on() == {"east": []}
    held = pods.workload()
    assert held is not None
    assert "admission" in held["status"]
    pods.nodes()
    pods.nodes()
    free = pods.workload()
    assert free is not None
    assert "admission" not in free["status"]
    assert pods.gated() == ["a", "b"]
    assert pods.workload("east") is None


def test_a_pod_ungated_on_the_manager_is_deleted() -> None:
    pods = Pods3("p")
    pods.run("p")
    pods.tell(pods.here, {"spec": {"schedulingGates": []}}, "p")
    pods.nodes()

    assert pods.gated() == []
    assert all(map(going, pods.pods().values()))


def test_running_pods_keep_running_when_their_queue_gets_the_check() -> None:
    pods = Pods3()
    queues(pods.here)
    pods.create("p")
    pods.world.settle()
    assert pods.gated() == []
    queues(pods.here, check="multi")
    for _ in range(3):
        pods.nodes()

    assert pods.on() == {}
    assert not any(map(going, pods.pods().values()))
    assert pods.world.check()[0] == "Ready"


def test_pods_of_an_unreachable_worker_are_placed_again_after_the_timeout() -> None:
    pods = Pods3("p")
    pods.run("p")
    pods.world.links.lose("east")
    pods.world.settle()
    assert pods.on() == {"east": ["p"]}
    assert pods.world.check()[0] == "Ready"
    for _ in range(4):
        pods.world.settle(seconds=16 * 60)

    assert "p" in pods.on()["west"]
    pods.world.links.connect("east")
    for _ in range(3):
        pods.nodes()
    assert pods.on() == {"west": ["p"]}
    assert pods.gated() == ["p"]


def test_a_pod_of_the_same_name_that_is_not_ours_is_not_changed() -> None:
    pods = Pods3()
    foreign = {"metadata": {"name": "p", "namespace": "ns", "labels": {}}, "spec": {"nodeName": "n"}}
    for name in pods.world.workers:
        pods.server(name).add("Pod", foreign)
    pods.create("p")
    for _ in range(10):
        pods.world.settle(seconds=5)

    assert all(pods.pods(name)["p"]["spec"] == {"nodeName": "n"} for name in pods.world.workers)
    assert all(pods.on().values())
    assert pods.workload("east") is None
    assert pods.world.check()[0] == "Pending"


def test_a_restarted_manager_keeps_running_pods() -> None:
    pods = Pods3("a", "b", group="g")
    pods.run("a", "b")
    before = {name: found["metadata"]["uid"] for name, found in pods.pods("east").items()}
    pods.world.manager.start(pods.world.clock)
    pods.world.settle()

    assert {name: found["metadata"]["uid"] for name, found in pods.pods("east").items()} == before
    assert pods.gated() == ["a", "b"]
    assert pods.world.check()[0] == "Ready"
