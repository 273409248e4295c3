"""The life of batch Jobs: submitted, admitted, preempted, resumed, finished."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from scheduling.objects.workload import EVICTED, FINISHED, QUOTA_RESERVED, REQUEUED, Admission
from scheduling.status.reservation import reserve
from tests.reconciler.jobs.world import AROUND, NOW, K, World, job, template


def spec_of_pods(world: World) -> dict[str, Any]:
    found: dict[str, Any] = world.job["spec"]["template"]["spec"]
    return found


def test_a_job_is_admitted_preempted_resumed_and_finished() -> None:
    world = World(job())

    assert world.settle() == ["CreatedWorkload"]
    world.admit()
    assert world.settle() == ["Started"]
    assert world.job["spec"]["suspend"] is False
    assert spec_of_pods(world)["nodeSelector"] == {"tier": "spot"}

    world.preempt()
    assert world.settle() == ["Stopped"]
    assert world.job["spec"] == job()["spec"]
    assert world.job["metadata"]["annotations"] == {}
    assert not world.read.reserved
    assert world.read.holds(REQUEUED)

    world.admit()
    assert world.settle() == ["Started"]
    assert not world.read.evicted
    world.end("Complete", "Reached expected number of succeeded pods")
    assert world.settle() == ["FinishedWorkload"]
    finished = world.read.conditions[FINISHED]
    assert (finished.reason, finished.message) == ("Succeeded", "Reached expected number of succeeded pods")
    assert world.stored is not None
    assert world.stored["metadata"]["finalizers"] == []


def test_quota_is_used_until_the_last_pod_has_ended() -> None:
    world = World(job())
    world.settle()
    world.admit()
    world.settle()
    world.preempt()

    world.settle(controller=False)

    assert world.job["spec"]["suspend"] is True
    assert world.read.reserved
    assert world.read.holds(EVICTED)
    world.settle()
    assert not world.read.reserved


def test_a_preemption_continues_from_the_stored_objects_after_any_write() -> None:
    """Another process can continue from each stored state: a step depends on that state only."""
    world = World(job(notes={f"{K}job-min-parallelism": "1"}, parallelism=4, completions=8))
    world.settle()
    world.admit(count=2)
    world.settle()
    world.preempt()
    for _ in range(10):
        world.control()
        again = [world.steps(), world.steps()]
        assert again[0] == again[1]
        for step in again[0]:
            assert step.action is not None
            world.write(step.action)
    assert world.job["spec"]["parallelism"] == 4
    assert not world.read.reserved


def test_a_partially_admitted_job_gets_its_own_parallelism_back() -> None:
    notes = {f"{K}job-min-parallelism": "1", f"{K}job-completions-equal-parallelism": "true"}
    world = World(job(notes=notes, parallelism=4, completions=4, completionMode="Indexed"))
    world.settle()
    world.admit(count=2)

    world.settle()
    assert (world.job["spec"]["parallelism"], world.job["spec"]["completions"]) == (2, 2)
    assert world.read.pod_sets[0].count == 4

    world.preempt()
    world.settle()
    assert (world.job["spec"]["parallelism"], world.job["spec"]["completions"]) == (4, 4)
    assert world.read.pod_sets[0].count == 4


def test_a_job_that_was_created_running_is_stopped_and_queued() -> None:
    world = World(job(suspend=False))

    assert world.settle() == ["Stopped", "CreatedWorkload"]
    assert world.job["spec"]["suspend"] is True


def test_a_job_is_suspended_and_queued_again_when_its_workload_is_deleted() -> None:
    world = World(job())
    world.settle()
    world.admit()
    world.settle()
    world.edit_workload({"metadata": {"deletionTimestamp": "2025-01-01T00:00:00Z"}})

    assert [step.message for step in world.steps()] == ["Workload is deleted"]
    assert world.settle() == ["Stopped", "CreatedWorkload"]
    assert world.job["spec"] == job()["spec"]
    assert QUOTA_RESERVED not in world.read.conditions


def test_a_pending_job_with_changed_pods_updates_its_workload() -> None:
    world = World(job())
    world.settle()
    world.edit_job({"spec": {"parallelism": 3, "completions": 3}})

    assert world.settle() == ["UpdatedWorkload"]
    assert world.read.pod_sets[0].count == 3


TOPOLOGY = {f"{K}podset-unconstrained-topology": "true"}


@pytest.mark.parametrize(("before", "after"), [({}, TOPOLOGY), (TOPOLOGY, dict.fromkeys(TOPOLOGY))])
def test_a_pending_job_with_another_topology_updates_its_workload(
    before: dict[str, str], after: dict[str, str | None]
) -> None:
    world = World(job(template=_with_annotations(before)))
    world.settle()
    world.edit_job({"spec": {"template": {"metadata": {"annotations": after}}}})

    assert world.settle() == ["UpdatedWorkload"]
    assert ("unconstrained" in (world.read.pod_sets[0].topology or {})) is not bool(before)


@pytest.mark.parametrize(("counts_ending", "early"), [(False, ["Started"]), (True, [])])
def test_a_job_that_its_user_suspends_starts_again_before_its_pods_have_ended_unless_they_count(
    counts_ending: bool, early: list[str]
) -> None:
    world = World(job(), replace(AROUND, counts_ending=counts_ending))
    world.settle()
    world.admit()
    world.settle()
    world.edit_job({"spec": {"suspend": True}})

    assert world.settle(controller=False) == early
    world.settle()
    assert world.job["spec"]["suspend"] is False


@pytest.mark.parametrize(("before", "after"), [({}, TOPOLOGY), (TOPOLOGY, dict.fromkeys(TOPOLOGY))])
def test_a_job_with_quota_does_not_start_with_another_topology_after_its_user_stopped_it(
    before: dict[str, str], after: dict[str, str | None]
) -> None:
    world = World(job(template=_with_annotations(before)))
    world.settle()
    world.admit()
    world.settle()
    world.edit_job({"spec": {"suspend": True}})
    world.control()
    world.edit_job({"spec": {"template": {"metadata": {"annotations": after}}}})

    assert world.settle() == ["DeletedWorkload", "CreatedWorkload"]
    assert world.job["spec"]["template"]["metadata"].get("annotations", {}) == before


def _with_annotations(notes: dict[str, str]) -> dict[str, Any]:
    made = template()
    made["metadata"]["annotations"] = notes
    return made


def test_a_running_job_with_changed_pods_is_suspended_and_queued_again() -> None:
    world = World(job(parallelism=2, completions=9))
    world.settle()
    world.admit(count=2)
    world.settle()
    world.edit_job({"spec": {"parallelism": 3}})
    (deletion,) = world.steps()
    assert deletion.action is not None
    world.write(deletion.action)

    stopped = "No matching Workload; restoring pod templates according to existent Workload"
    assert [step.message for step in world.steps()] == [stopped]
    assert world.settle() == ["Stopped", "CreatedWorkload"]
    assert world.read.pod_sets[0].count == 3
    assert "nodeSelector" not in spec_of_pods(world)


@pytest.mark.parametrize(
    "more",
    [
        {"resources": {"requests": {"cpu": "100"}}},
        {"overhead": {"cpu": "100"}},
        {"runtimeClassName": "with-overhead"},
        {"resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "eight"}]},
    ],
)
def test_all_requests_of_the_pod_spec_are_in_the_workload(more: dict[str, Any]) -> None:
    world = World(job())
    world.settle()
    world.edit_job({"spec": {"template": {"spec": more}}})

    assert world.settle() == ["UpdatedWorkload"]
    world.admit()
    assert world.settle() == ["Started"]
    world.edit_job({"spec": {"template": {"spec": dict.fromkeys(more)}}})
    assert world.settle() == ["DeletedWorkload", "Stopped", "CreatedWorkload"]


@pytest.mark.parametrize("reserved", [False, True])
def test_a_waiting_job_moves_to_another_queue(reserved: bool) -> None:
    world = World(job())
    world.settle()
    if reserved:
        world.decide(lambda read: reserve(read, Admission("cq"), NOW))
    world.edit_job({"metadata": {"labels": {f"{K}queue-name": "other"}}})

    world.settle()

    assert (world.read.queue, world.read.reserved) == ("other", False)


@pytest.mark.parametrize("annotated", [False, True])
def test_a_prebuilt_workload_is_adopted_and_admitted(annotated: bool) -> None:
    world = World(job())
    world.settle()
    made = world.stored
    assert made is not None
    bare = {"name": "ready-made", "namespace": "ns", "uid": "x", "resourceVersion": "5"}
    labels, prebuilt = {f"{K}queue-name": "q"}, f"{K}prebuilt-workload-name"
    if annotated:
        world = World(job({**labels, prebuilt: "another"}, {prebuilt: "ready-made"}))
    else:
        world = World(job({**labels, prebuilt: "ready-made"}))
    assert world.settle() == []
    world.objects["workloads", "ns/ready-made"] = {**made, "metadata": bare}

    world.settle()
    assert world.read.owners[0].uid == "job-uid"
    world.admit()
    assert world.settle() == ["Started"]


def test_a_prebuilt_workload_may_lack_api_server_defaults() -> None:
    world = World(job())
    world.settle()
    made = deepcopy(world.stored)
    assert made is not None
    made["metadata"] = {"name": "ready-made", "namespace": "ns", "uid": "x", "resourceVersion": "5"}
    world = World(job({f"{K}queue-name": "q", f"{K}prebuilt-workload-name": "ready-made"}))
    for container in world.job["spec"]["template"]["spec"]["containers"]:
        container |= {"imagePullPolicy": "IfNotPresent", "terminationMessagePath": "/dev/termination-log"}
    world.objects["workloads", "ns/ready-made"] = made

    world.settle()
    world.admit()
    assert world.settle() == ["Started"]


def test_the_workload_of_a_pod_group_is_not_adopted() -> None:
    """Its Pods are owners, but none of them is the controller."""
    world = World(job())
    world.settle()
    made = world.stored
    assert made is not None
    pods = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-of-a-pod"}]
    meta = {"name": "g", "namespace": "ns", "uid": "x", "resourceVersion": "5", "ownerReferences": pods}
    meta["annotations"] = {f"{K}is-group-workload": "true"}
    world = World(job({f"{K}queue-name": "q", f"{K}prebuilt-workload-name": "g"}))
    world.objects["workloads", "ns/g"] = {**made, "metadata": meta}

    assert world.settle()[-1] == "WorkloadNameConflict"
    assert [owner.uid for owner in world.read.owners] == ["uid-of-a-pod"]


def test_the_workload_of_a_deleted_job_is_released() -> None:
    world = World(job())
    world.settle()
    key = world.key

    world.lose_job()

    assert ("workloads", key) not in world.objects


GATES = f"{K}admission-gated-by"


def gates(world: World) -> str | None:
    assert world.stored is not None
    found: str | None = world.stored["metadata"]["annotations"].get(GATES)
    return found


def test_an_admission_gate_removed_from_a_job_is_removed_from_its_workload() -> None:
    world = World(job(notes={GATES: "example.com/a,example.com/b"}))
    assert world.settle() == ["CreatedWorkload"]
    assert gates(world) == "example.com/a,example.com/b"

    world.job["metadata"]["annotations"][GATES] = "example.com/b"
    assert [step.message for step in world.steps()] == ['Updated workload AdmissionGatedBy to "example.com/b"']
    assert world.settle() == ["UpdatedWorkload"]
    assert gates(world) == "example.com/b"

    del world.job["metadata"]["annotations"][GATES]
    assert [step.message for step in world.steps()] == ['Updated workload AdmissionGatedBy to ""']
    assert world.settle() == ["UpdatedWorkload"]
    assert gates(world) is None
    assert world.settle() == []


def test_an_updated_workload_has_the_gates_of_its_job() -> None:
    world = World(job(notes={GATES: "example.com/a"}))
    world.settle()

    world.job["spec"] |= {"parallelism": 7, "completions": 7}
    del world.job["metadata"]["annotations"][GATES]

    assert world.settle() == ["UpdatedWorkload", "UpdatedWorkload"]
    assert gates(world) is None


@pytest.mark.parametrize("owner", ["job-uid", "another"])
def test_a_job_in_deletion_removes_the_finalizer_only_from_its_own_workload(owner: str) -> None:
    world = World(job({f"{K}queue-name": "q", f"{K}prebuilt-workload-name": "theirs"}))
    ready = World(job())
    ready.settle()
    ready.admit()
    assert ready.stored is not None
    meta = {**ready.stored["metadata"], "name": "theirs"}
    meta["ownerReferences"] = [{**meta["ownerReferences"][0], "uid": owner}]
    world.objects["workloads", "ns/theirs"] = {**ready.stored, "metadata": meta}
    world.edit_job({"metadata": {"deletionTimestamp": "2025-01-01T00:00:00Z", "finalizers": ["example.com/stays"]}})

    world.settle(controller=False)

    assert world.stored is not None
    assert bool(world.stored["metadata"]["finalizers"]) == (owner == "another")
