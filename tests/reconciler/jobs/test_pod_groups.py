"""The life of groups of Pods: complete, admitted together, preempted, replaced, finished."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cluster.actions import Create, Patch
from policies.dialects.naming import Naming
from reconciler.controllers.pods import watched_pods
from reconciler.jobs.step import JobInputs
from scheduling.objects.times import SECOND
from scheduling.objects.workload import (
    ADMITTED,
    EVICTED,
    FINISHED,
    ON_HOLD,
    PODS_READY,
    QUOTA_RESERVED,
    WAITING_FOR_REPLACEMENT,
    CheckState,
)
from scheduling.status.eviction import evict
from scheduling.status.reservation import unreserve
from tests.reconciler.jobs.pod_world import NOW, Manifest, PodWorld, admitted, condition, group, pod, running
from tests.reconciler.jobs.world import AROUND, K

OF_SET = {"pod-group-fast-admission": "true", "pod-group-serving": "true", "pod-suspending-parent": "statefulset"}
SOME_FAILED = "Some Failed pods need replacement"


def test_the_workload_of_a_group_has_a_pod_set_for_each_role_and_all_pods_as_owners() -> None:
    world = PodWorld(pod("a", "g", 3), pod("b", "g", 3), pod("c", "g", 3, cpu="2"))

    assert world.settle() == ["CreatedWorkload"]
    meta = world.stored["metadata"]
    assert (meta["name"], meta["annotations"][f"{K}is-group-workload"]) == ("g", "true")
    assert [owner["name"] for owner in meta["ownerReferences"]] == ["a", "b", "c"]
    assert not any("controller" in owner for owner in meta["ownerReferences"])
    assert sorted(pod_set.count for pod_set in world.read.pod_sets) == [1, 2]


def test_an_incomplete_group_is_reported_and_waits_for_its_pods() -> None:
    world = PodWorld(pod("a", "g", 3), pod("b", "g", 3))

    assert world.settle() == ["ErrWorkloadCompose"]
    assert world.messages == ["'g' group has fewer runnable pods than expected"]
    world.create(pod("c", "g", 3))
    assert world.settle() == ["CreatedWorkload"]


def test_a_group_size_with_a_plus_sign_is_parsed_as_in_go() -> None:
    size = {"pod-group-total-count": "+2"}
    world = PodWorld(pod("a", "g", 2, notes=size), pod("b", "g", 2, notes=size))

    assert world.settle() == ["CreatedWorkload"]
    assert [pod_set.count for pod_set in world.read.pod_sets] == [2]


def test_a_group_with_fast_admission_starts_later_pods_as_they_come() -> None:
    fast = {"pod-group-fast-admission": "true"}
    world = admitted(pod("a", "g", 2, notes=fast))
    assert world.running() == ["a"]
    assert WAITING_FOR_REPLACEMENT not in world.read.conditions

    world.create(pod("b", "g", 2, notes=fast))
    assert world.settle() == ["OwnerReferencesAdded", "Started"]
    assert world.running() == ["a", "b"]


@pytest.mark.parametrize("workload_there", [False, True])
def test_pods_of_a_stateful_set_beyond_its_group_wait_because_it_would_create_them_again(workload_there: bool) -> None:
    pods = [pod(name, "g", 2, notes=OF_SET) for name in "abc"]
    world = PodWorld(*pods[: 2 if workload_there else 3])
    world.settle()
    if workload_there:
        world.create(pods[2])
    world.admit()
    world.settle()

    assert world.running() == ["a", "b"]
    assert world.gated() == ["c"]
    assert world.messages[-1] == "Workload ns/g is for 2 Pods; scale to 0, then to the new number of replicas"
    assert [pod_set.count for pod_set in world.read.pod_sets] == [2]


def test_a_pod_of_a_stateful_set_that_has_ended_keeps_no_finalizer_because_its_successor_waits_for_that() -> None:
    world = running(pod("a", "g", 2, notes=OF_SET), pod("b", "g", 2, notes=OF_SET))
    world.delete("b")
    world.settle(nodes=False)
    assert world.pods()["b"]["metadata"]["finalizers"], "it still runs"
    world.settle()

    assert [*world.pods()] == ["a"]
    world.create(pod("b", "g", 2, notes=OF_SET))
    world.settle()
    assert world.running() == ["a", "b"]


def test_the_workload_of_a_set_is_kept_for_a_while_without_pods() -> None:
    world = running(of_set("a"))
    kept = world.stored["metadata"]["uid"]
    world.delete("a")
    world.settle()
    assert world.pods() == {}
    world.create(of_set("a"))
    world.settle()
    assert (world.stored["metadata"]["uid"], world.running()) == (kept, ["a"])

    world.delete("a")
    world.settle()
    world.restarted()
    world.settle()
    assert world.read.reserved
    world.now += 10 * SECOND
    world.settle()
    assert world.workloads() == {}


def test_only_a_stateful_set_owns_the_workload_of_its_pods() -> None:
    """A tenant may name any object as the controller of a Pod. A Workload that a Node owns would never be collected."""
    made = of_set("a")
    made["metadata"]["ownerReferences"][0] |= {"apiVersion": "v1", "kind": "Node"}

    assert [owner["kind"] for owner in running(made).stored["metadata"]["ownerReferences"]] == ["Pod"]


def of_set(name: str) -> Manifest:
    """The Pod of a StatefulSet of one replica."""
    made = pod(name, "g", 1, notes=OF_SET)
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "set", "controller": True}
    return {**made, "metadata": {**made["metadata"], "ownerReferences": [owner]}}


def test_a_group_that_kueue_has_put_on_hold_queues_again_when_its_set_has_pods() -> None:
    world = PodWorld(pod("a", "g", 2, notes=OF_SET))
    world.settle()
    world.decide(lambda read: unreserve(read, ON_HOLD, "StatefulSet scaled to zero; workload on hold", NOW))
    assert not world.read.queueable
    world.restarted()
    world.settle()

    assert world.read.queueable


def test_an_evicted_group_with_fast_admission_waits_for_a_pod_of_each_role() -> None:
    fast = {"pod-group-fast-admission": "true"}
    world = running(pod("a", "g", 2, notes=fast))
    world.decide(lambda read: evict(read, "PodsReadyTimeout", "Too slow", NOW))
    world.settle()
    assert condition(world, "WaitingForReplacementPods") == ("True", "PodsReadyTimeout")
    assert (world.read.reserved, world.read.queueable) == (False, False)

    world.create(pod("b", "g", 2, notes=fast))
    world.settle()

    assert condition(world, "WaitingForReplacementPods") == ("False", "PodsReady")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (pod("b", "g", 3), "Pods of group g name different total counts: a says 2, b 3"),
        (pod("b", "g", 2, queue_name="r"), "Pods of group g name different queues: a names queue q, b r"),
    ],
)
def test_contradicting_pods_of_a_group_are_reported(other: Manifest, message: str) -> None:
    world = PodWorld(pod("a", "g", 2), other)

    assert world.settle() == ["ErrWorkloadCompose"]
    assert world.messages == [message]


def test_without_the_gate_labels_alone_name_groups() -> None:
    notes = {"pod-group-name": "h"}
    pods = [pod(name, "g", 2, notes=notes) for name in "ab"]
    for naming, named in ((Naming(), "h"), (Naming(annotated=False), "g")):
        world = PodWorld(*pods, naming=naming)
        world.settle()
        assert list(world.workloads()) == [named]
        world.admit()
        world.settle()
        assert world.running() == ["a", "b"]

    alone = PodWorld(pod("p", notes=notes), naming=Naming(annotated=False))
    alone.settle()
    (name,) = alone.workloads()
    assert name.startswith("pod-p-")


def test_a_pod_that_runs_keeps_its_workload_when_names_become_short() -> None:
    world = PodWorld(pod("p" * 100))
    world.settle()
    (usual,) = world.workloads()
    world.admit()
    world.settle()
    assert world.running() == ["p" * 100]

    short = Naming(short=True)
    world.watched, world.inputs = watched_pods(short), replace(world.inputs, naming=short)
    world.restarted()
    world.settle()
    assert (list(world.workloads()), world.running()) == ([usual], ["p" * 100])
    world.create(pod("q" * 100))
    world.settle()
    assert sorted(map(len, world.workloads())) == [63, len(usual)]


def test_labels_to_copy_must_agree() -> None:
    inputs = JobInputs(copied_labels=(f"{K}team",))
    world = PodWorld(*(pod(name, "g", 2, team="x") for name in "ab"), inputs=inputs)
    world.settle()
    assert world.stored["metadata"]["labels"] == {f"{K}team": "x"}

    other = PodWorld(pod("a", "g", 2, team="x"), pod("b", "g", 2, team="y"), inputs=inputs)
    assert other.settle() == ["ErrWorkloadCompose"]


def test_annotations_to_copy_must_agree() -> None:
    inputs = JobInputs(copied_annotations=(f"{K}sort",))
    world = PodWorld(*(pod(name, "g", 2, notes={"sort": "x"}) for name in "ab"), inputs=inputs)
    world.settle()
    assert world.stored["metadata"]["annotations"][f"{K}sort"] == "x"

    pods = (pod(name, "g", 2, notes={"sort": name}) for name in "ab")
    other = PodWorld(*pods, inputs=inputs)
    assert other.settle() == ["ErrWorkloadCompose"]
    assert other.messages == [f"Pods of one group have different annotations {K}sort: a and b"]


def test_all_pods_of_a_group_start_together() -> None:
    world = PodWorld(*group(3))
    world.settle()
    assert len(world.gated()) == 3
    world.admit()

    assert world.step() == 3
    assert world.running() == ["a", "b", "c"]


@pytest.mark.parametrize("workload_there", [False, True])
def test_pods_beyond_the_size_of_a_group_are_deleted_the_newest_first(workload_there: bool) -> None:
    world = PodWorld(*group(2))
    if workload_there:
        world.settle()
    world.create(pod("x", "g", 2))

    assert "ExcessPodDeleted" in world.settle()
    assert ("ExcessPodDeleted", "x") in world.events
    assert list(world.pods()) == ["a", "b"]


def test_a_group_is_ready_when_all_its_pods_are() -> None:
    world = admitted(*group(2))
    world.bind("a")
    world.settle()
    assert condition(world, PODS_READY) == ("False", "WaitForStart")

    world.bind("b")
    world.settle()
    assert condition(world, PODS_READY) == ("True", "Started")


def test_a_group_of_which_some_succeeded_waits_for_recovery_as_in_kueue() -> None:
    world = running(*group(2))
    world.settle()
    assert condition(world, PODS_READY) == ("True", "Started")

    world.end("a")
    world.settle()

    assert condition(world, PODS_READY) == ("False", "WaitForRecovery")


def test_succeeded_pods_count_as_ready_with_the_feature_gate_of_v0_20() -> None:
    world = PodWorld(*group(2), inputs=replace(AROUND, succeeded_ready=True))
    world.settle()
    world.admit()
    world.settle()
    world.bind(*world.running())
    world.settle()

    world.end("a")
    world.settle()
    assert condition(world, PODS_READY) == ("True", "Started")

    world.edit_pod("b", {"status": {"conditions": [{"type": "Ready", "status": "False"}]}})
    world.settle()
    assert condition(world, PODS_READY) == ("False", "WaitForRecovery")


def test_succeeded_pods_are_reclaimable_and_the_last_one_finishes_the_group() -> None:
    world = running(*group(2))
    world.end("a")
    world.settle()
    (role,) = world.read.reclaimable
    assert world.read.reclaimable == {role: 1}
    assert not world.read.finished

    world.end("b")

    assert world.settle() == ["FinishedWorkload"]
    assert world.read.conditions[FINISHED].message == "Pods succeeded: 2/2."
    assert not any(each["metadata"].get("finalizers") for each in world.pods().values())


def test_a_failed_pod_is_replaced() -> None:
    world = running(*group(3))
    world.end("b", "Failed")

    world.settle()
    assert world.read.conditions[WAITING_FOR_REPLACEMENT][:3] == ("True", "PodsFailed", SOME_FAILED)
    assert condition(world, PODS_READY) == ("False", "WaitForRecovery")
    assert world.pods()["b"]["metadata"]["finalizers"]
    world.create(pod("d", "g", 3))
    assert world.settle() == ["OwnerReferencesAdded", "Started"]
    assert world.running() == ["a", "c", "d"]
    assert world.read.conditions[WAITING_FOR_REPLACEMENT][:3] == ("False", "PodsReady", "No pods need replacement")
    assert not world.pods()["b"]["metadata"].get("finalizers")


def test_a_pod_that_cannot_be_replaced_ends_the_group() -> None:
    world = running(*group(2, notes={"retriable-in-group": "false"}))
    world.end("a", "Failed")
    world.settle()
    assert not world.read.finished

    world.end("b")

    assert world.settle() == ["FinishedWorkload"]
    assert world.read.conditions[FINISHED].message == "Pods succeeded: 1/2."


def test_a_finished_group_waits_for_no_replacement_pods() -> None:
    world = running(*group(2, notes={"retriable-in-group": "false"}))
    for name in ("a", "b"):
        world.end(name, "Failed")

    assert world.settle() == ["FinishedWorkload"]
    assert WAITING_FOR_REPLACEMENT not in world.read.conditions


def test_pods_run_on_while_a_check_is_pending_again() -> None:
    world = running(*group(2))
    world.decide(lambda read: replace(read, checks=(CheckState("c", "Pending", since=NOW),)))

    assert world.settle() == []

    assert world.running() == ["a", "b"]


def test_a_serving_group_never_finishes() -> None:
    world = running(*group(1, notes={"pod-group-serving": "true"}))
    world.end("a")

    world.settle()

    assert not world.read.finished
    assert world.read.reclaimable == {}


def test_a_replacement_starts_only_after_the_deleted_pod_has_ended() -> None:
    world = running(*group(2))
    world.delete("b")
    world.create(pod("c", "g", 2))

    world.settle(nodes=False)
    assert world.gated() == ["c"]
    world.settle()
    assert world.running() == ["a", "c"]


@pytest.mark.parametrize(("first", "second"), [("a", "b"), ("b", "a")])
def test_the_pod_that_failed_first_is_replaced_first(first: str, second: str) -> None:
    world = running(*group(2))
    for name, moment in ((first, "10:01"), (second, "10:05")):
        failed = {"type": "ContainersReady", "status": "False", "reason": "PodFailed"}
        ended = {**failed, "lastTransitionTime": f"2026-01-01T{moment}:00Z"}
        world.edit_pod(name, {"status": {"phase": "Failed", "conditions": [ended]}})
    world.create(pod("c", "g", 2))
    world.settle(nodes=False)

    held = {name for name, each in world.pods().items() if each["metadata"].get("finalizers")}
    assert held == {second, "c"}


def test_a_preempted_group_keeps_its_failed_pods_until_they_are_replaced() -> None:
    world = running(*group(2))
    world.preempt()

    world.settle(nodes=False)
    assert world.read.holds(QUOTA_RESERVED), "its nodes have not let it go yet"
    world.settle()
    assert not world.read.reserved
    assert world.read.holds(EVICTED)
    assert condition(world, WAITING_FOR_REPLACEMENT) == ("True", "Preempted")
    assert not world.read.queueable
    assert [each["metadata"].get("finalizers") for each in world.pods().values()] == [[f"{K}managed"]] * 2

    for name in "xy":
        world.create(pod(name, "g", 2))
    world.settle()
    assert world.read.queueable
    assert list(world.pods()) == ["x", "y"]
    world.admit()
    world.settle()
    assert world.running() == ["x", "y"]


def test_a_deleted_group_leaves_no_objects() -> None:
    world = running(*group(3))
    for name in "abc":
        world.delete(name)

    world.settle()

    assert world.objects == {}


def test_a_group_preempted_after_a_pod_was_deleted_leaves_no_objects() -> None:
    world = running(*group(3))
    world.delete("a")
    world.settle()
    assert condition(world, WAITING_FOR_REPLACEMENT) == ("True", "PodsFailed")
    world.preempt()

    world.settle()

    assert world.objects == {}


def test_a_deleted_pending_group_leaves_no_objects() -> None:
    world = PodWorld(*group(3))
    world.settle()
    for name in "abc":
        world.delete(name)

    world.settle()

    assert world.objects == {}


def test_a_deleted_workload_deletes_all_pods_of_its_group() -> None:
    world = running(*group(3))
    world.end("a")
    world.settle()
    world.take_away()

    world.settle()

    assert world.objects == {}


def test_a_group_of_the_same_name_waits_for_the_deletion_of_the_old_workload() -> None:
    world = running(*group(1))
    world.end("a")
    world.settle()
    world.edit(("Workload", "ns/g"), {"metadata": {"finalizers": ["example.com/slow"]}})
    world.delete("a")
    world.kubelet()
    world.create(pod("b", "g", 1))
    world.settle()
    world.take_away()
    assert world.settle() == []
    assert world.gated() == ["b"]

    world.edit(("Workload", "ns/g"), {"metadata": {"finalizers": []}})

    assert world.settle() == ["CreatedWorkload"]
    assert list(world.pods()) == ["b"]


def test_a_pending_group_may_change_its_roles() -> None:
    world = PodWorld(*group(2))
    world.settle()
    world.delete("b")
    world.create(pod("c", "g", 2, cpu="2"))

    assert "UpdatedWorkload" in world.settle()
    assert [pod_set.count for pod_set in world.read.pod_sets] == [1, 1]
    assert list(world.pods()) == ["a", "c"]


def test_a_pod_of_an_unknown_role_is_reported_and_not_started() -> None:
    world = running(*group(2))
    world.create(pod("x", "g", 2, cpu="7"))

    assert "ErrWorkloadCompose" in world.settle()
    assert "has no role like this Pod's" in world.messages[-1]
    assert world.gated() == ["x"]


@pytest.mark.parametrize("started", [0, 1, 2])
def test_an_interrupted_start_of_a_group_is_completed(started: int) -> None:
    world = PodWorld(*group(3))
    world.settle()
    world.admit()
    world.step(most=started)
    assert len(world.running()) == started

    world.restarted()
    world.settle()

    assert world.running() == ["a", "b", "c"]
    assert sum(isinstance(write, Create) for write in world.writes) == 1
    starts = [write for write in world.writes if isinstance(write, Patch) and "schedulingGates" in str(write.body)]
    assert len(starts) == 3


@pytest.mark.parametrize("started", [0, 1, 2])
def test_a_group_preempted_during_its_start_releases_all_quota(started: int) -> None:
    world = PodWorld(*group(3))
    world.settle()
    world.admit()
    world.step(most=started)
    world.restarted()
    world.preempt()

    world.settle()

    assert world.running() == []
    assert not world.read.reserved
    assert world.read.conditions[ADMITTED].status == "False"
    assert len(world.gated()) == 3 - started


def test_the_place_of_a_deleted_succeeded_pod_is_not_used_by_another() -> None:
    world = running(*group(2))
    world.end("a")
    world.settle()
    world.edit_pod("a", {"metadata": {"finalizers": None}})
    world.delete("a")
    world.kubelet()
    assert list(world.pods()) == ["b"]

    world.create(pod("c", "g", 2))

    assert "ExcessPodDeleted" in world.settle()
    assert list(world.pods()) == ["b"]


def test_a_workload_is_created_only_after_the_old_pods_have_ended() -> None:
    world = running(*group(2))
    world.edit(("Workload", "ns/g"), {"metadata": {"finalizers": []}})
    world.take_away()
    assert world.workloads() == {}
    for name in "xy":
        world.create(pod(name, "g", 2))

    world.settle(nodes=False)
    assert world.workloads() == {}
    world.settle()
    assert list(world.workloads()) == ["g"]
    assert world.gated() == ["x", "y"]


@pytest.mark.parametrize(("old_pods", "left"), [(True, ["a"]), (False, ["x", "y"])])
def test_pods_added_to_a_finished_group_are_deleted_unless_the_group_is_new(old_pods: bool, left: list[str]) -> None:
    world = running(*group(1))
    world.end("a")
    world.settle()
    world.edit(("Workload", "ns/g"), {"metadata": {"finalizers": ["example.com/slow"]}})
    if not old_pods:
        world.delete("a")
        world.kubelet()
    for name in "xy":
        world.create(pod(name, "g", 2))

    world.settle(nodes=False)

    assert list(world.pods()) == left


def test_labels_of_a_pod_in_deletion_do_not_count_for_its_group() -> None:
    world = PodWorld(*group(2))
    world.settle()
    before = world.stored["spec"]
    labels = {f"{K}priority-class": "high", f"{K}max-exec-time-seconds": "60"}
    held = {"finalizers": [f"{K}managed", "example.com/mine"], "deletionTimestamp": "2025-01-01T00:00:00Z"}
    world.edit_pod("a", {"metadata": {"labels": labels, **held}})
    world.create(pod("c", "g", 2))

    assert "UpdatedWorkload" not in world.settle()
    assert world.stored["spec"] == before


@pytest.mark.parametrize("label", [None, "shorter"])
def test_the_group_name_of_an_annotation_wins_over_the_label(label: str | None) -> None:
    def member(name: str) -> Manifest:
        labels = {"pod_group_name": label} if label else {}
        return pod(name, notes={"pod-group-name": f"g-{'x' * 80}", "pod-group-total-count": "2"}, **labels)

    world = admitted(member("a"), member("b"))

    assert world.stored["metadata"]["name"] == f"g-{'x' * 80}"
    assert world.gated() == []


def test_an_excess_success_does_not_count_for_another_role() -> None:
    world = running(pod("a", "g", 2), pod("b", "g", 2, cpu="2"))
    loose = pod("x", "g", 2)
    loose["spec"]["schedulingGates"] = []
    world.create({**loose, "status": {"phase": "Succeeded"}})
    world.end("a")
    world.end("b", "Failed")

    world.settle()

    assert not world.read.finished
    world.create(pod("c", "g", 2, cpu="2"))
    world.settle()
    assert world.running() == ["c"]
