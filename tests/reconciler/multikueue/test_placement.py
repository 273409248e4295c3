"""Workloads that run on other clusters: the scenarios of KEP-693 with three loops in memory."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.actions import Action, Create, Delete
from cluster.errors import ApiError, Forbidden, NotFound
from policies.dialects.frameworks import SHAPES
from policies.model.objects import GroupKind
from reconciler.controllers.placement import PlacementController
from reconciler.jobs.batch_job import BATCH
from reconciler.jobs.described import JobKind
from reconciler.objects.observed import Key
from reconciler.objects.outcomes import Failed, Written
from scheduling.objects import times
from scheduling.objects.times import SECOND
from scheduling.objects.workload import BLOCKED_ON_GATES, ORIGIN
from scheduling.placement.decisions import Decision
from scheduling.placement.group import Group
from scheduling.placement.place import place
from scheduling.placement.settings import INCREMENTAL, SPREAD, PlacementRules, PlacementSettings
from tests import builders
from tests.reconciler.jobs.pod_world import pod
from tests.reconciler.multikueue.three_clusters import World3, job, queues
from tests.reconciler.stored_objects import Manifest


def test_a_job_runs_on_one_worker_and_its_status_is_copied_back() -> None:
    world = World3()
    world.submit("train")

    (cluster,) = world.runs_on()
    assert world.check() == ("Ready", f'The workload was admitted on "{cluster}"')
    local = world.workload()
    assert local is not None
    assert local["status"]["clusterName"] == cluster
    other = "west" if cluster == "east" else "east"
    assert world.workload(other) is None

    world.report(cluster, {"active": 1, "ready": 1})
    here = world.job()
    assert here is not None
    assert not here["spec"]["suspend"]
    assert here["status"] == {"active": 1, "ready": 1}


def _other(cluster: str) -> str:
    return "west" if cluster == "east" else "east"


def placed(placing: PlacementSettings | None = None) -> tuple[World3, str]:
    world = World3(placing)
    world.submit("train")
    (cluster,) = world.runs_on()
    return world, cluster


def test_copies_exist_on_all_workers_until_one_admits() -> None:
    world = World3()
    for worker in world.workers.values():
        queues(worker.server, cpus=0)
    world.submit("train")

    assert world.workload("east") is not None
    assert world.workload("west") is not None
    state, message = world.check()
    assert state == "Pending"
    assert message.startswith("east has no quota for it (")
    assert "; west has no quota for it (" in message

    queues(world.workers["west"].server)
    world.settle()
    assert world.runs_on() == ["west"]
    assert world.workload("east") is None


def test_only_one_of_two_admitting_workers_runs_the_job() -> None:
    world, cluster = placed()

    assert cluster == "east", "the name decides"
    assert world.job("west") is None
    assert [kind for kind, key in world.workers["west"].server.writes if key[0] == "Job"] == []


def test_a_job_rejected_by_one_worker_runs_on_another() -> None:
    world = World3()
    rejecting = {"admissionChecksStrategy": {"admissionChecks": [{"name": "never"}]}}
    east = world.workers["east"].server
    queue = east.objects["ClusterQueue", "cq"]
    east.add("ClusterQueue", {**queue, "spec": {**queue["spec"], **rejecting}})
    world.submit("train")

    assert world.runs_on() == ["west"]


def test_a_missing_namespace_is_reported_and_used_once_created() -> None:
    world = World3()
    for name in world.workers:
        world.workers[name].server.remove(("Namespace", "ns"))
    world.settle()
    world.submit("train")

    missing = "has no namespace ns; create it there"
    assert world.check() == ("Pending", f"east {missing}; west {missing}")
    world.workers["west"].server.add("Namespace", {"metadata": {"name": "ns"}})
    world.settle()
    world.settle(seconds=3)
    assert world.runs_on() == ["west"]


def test_missing_queues_are_reported() -> None:
    world = World3()
    world.workers["east"].server.remove(("LocalQueue", "ns/main"))
    world.workers["west"].server.remove(("ClusterQueue", "cq"))
    world.submit("train")

    east = "east has no LocalQueue ns/main; create it there"
    assert world.check() == ("Pending", f"{east}; west has no ClusterQueue cq")
    queues(world.workers["east"].server)
    world.settle(seconds=3)
    assert world.runs_on() == ["east"]


@pytest.mark.parametrize("kind", ["Workload", "Job"])
@pytest.mark.parametrize(
    "error",
    [
        NotFound(404, "NotFound", "the server could not find the requested resource"),
        Forbidden(403, "Forbidden", "exceeded quota: team"),
        ApiError(422, "Invalid", "spec.template: Invalid value"),
    ],
    ids=str,
)
def test_a_job_that_one_worker_does_not_accept_runs_on_another(kind: str, error: ApiError) -> None:
    world = World3()
    _refuse(world, "east", kind, error)
    world.submit("train")
    for _ in range(8):
        world.settle(seconds=5)

    assert world.runs_on() == ["west"]


def test_a_job_that_no_worker_accepts_reports_why_and_is_tried_again() -> None:
    world = World3()
    for name in world.workers:
        _refuse(world, name, "Job", NotFound(404, "NotFound", "no such kind"))
    world.submit("train")
    for _ in range(12):
        world.settle(seconds=5)
    refusals = (f"{name} does not accept the job: 404 NotFound: no such kind" for name in ("east", "west"))
    assert world.check() == ("Pending", "; ".join(refusals))

    for worker in world.workers.values():
        del worker.server.perform
    world.settle(seconds=300)
    world.settle(seconds=5)
    assert len(world.runs_on()) == 1


@pytest.mark.parametrize("kind", ["Workload", "Job"])
def test_a_worker_that_rejected_a_job_is_asked_again_once_its_kubeconfig_has_changed(kind: str) -> None:
    world = World3()
    for name in world.workers:
        _refuse(world, name, kind, Forbidden(403, "Forbidden", "no such right"))
    world.submit("train")
    for _ in range(8):
        world.settle(seconds=5)
    del world.workers["east"].server.perform
    world.settle(seconds=5)
    assert world.runs_on() == []

    world.links.change_kubeconfig("east")
    world.settle(seconds=1)
    world.settle(seconds=1)

    assert world.runs_on() == ["east"]


def _refuse(world: World3, cluster: str, kind: str, error: ApiError) -> None:
    """Its API server does not create objects of the kind."""
    server = world.workers[cluster].server
    perform = server.perform

    def answer(key: Key, action: Action) -> Written | Failed:
        return Failed(key, action, error) if isinstance(action, Create) and key[0] == kind else perform(key, action)

    server.perform = answer  # type: ignore[method-assign]


@pytest.mark.parametrize("field", ["topologyRequest", "maximumExecutionTimeSeconds"])
def test_a_worker_that_prunes_the_copy_is_skipped_for_a_while(field: str) -> None:
    world = World3()
    _prune(world, "east", field)
    submitted = job("train")
    submitted["metadata"]["labels"] |= {"kueue.x-k8s.io/max-exec-time-seconds": "60"}
    world.manager.server.add("Job", submitted)
    for _ in range(4):
        world.settle(seconds=5)

    assert world.runs_on() == ["west"]
    assert [kind for what, (kind, _) in world.workers["east"].server.writes if what == "Create"] == ["Workload"]


def test_a_priority_that_a_worker_prunes_is_not_sent_repeatedly() -> None:
    world = World3()
    world.submit("train")
    (cluster,) = world.runs_on()
    _prune(world, cluster, "priorityClassRef")
    local = world.workload()
    assert local is not None
    high = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
    key = "Workload", f"ns/{local['metadata']['name']}"
    world.manager.server.edit(key, {"spec": {"priority": 9, "priorityClassRef": high}})
    for _ in range(4):
        world.settle(seconds=5)

    assert world.runs_on() == [cluster]


def _prune(world: World3, cluster: str, field: str) -> None:
    """The CRD of its Workloads lacks the field."""
    server = world.workers[cluster].server
    put = server.put

    def pruned(key: Key, manifest: Manifest) -> None:
        if key[0] == "Workload":
            spec = {name: value for name, value in manifest["spec"].items() if name != field}
            sets = [{name: value for name, value in each.items() if name != field} for each in spec["podSets"]]
            manifest = {**manifest, "spec": {**spec, "podSets": sets}}
        put(key, manifest)

    server.put = pruned  # type: ignore[method-assign]


def test_an_unreachable_worker_does_not_block_placement() -> None:
    world = World3()
    world.links.lose("east")
    world.submit("train")

    assert world.runs_on() == ["west"]
    world.links.connect("east")
    world.settle()
    assert world.workload("east") is None


def test_a_job_that_is_deleted_on_its_worker_runs_again() -> None:
    world, cluster = placed()
    server = world.workers[cluster].server
    server.remove(("Job", "ns/train"))
    world.settle()

    reported = [kind for kind, key in world.manager.server.writes if key[0] == "Workload"]
    assert reported
    for _ in range(5):
        world.settle(seconds=70)
    assert len(world.runs_on()) == 1
    assert world.check()[0] == "Ready"


@pytest.mark.parametrize("kind", ["Job", "JobSet.jobset.x-k8s.io", "Pod"])
def test_an_object_of_another_user_with_the_labels_of_the_job_is_not_its_job(kind: str) -> None:
    world = World3(kinds=(BATCH, JobKind(SHAPES[GroupKind("jobset.x-k8s.io", "JobSet")])))
    world.submit("train")
    (cluster,) = world.runs_on()
    _imitate(world, cluster, kind)
    world.report(cluster, {"active": 1, "ready": 1})
    here = world.job()
    assert here is not None
    assert here["status"] == {"active": 1, "ready": 1}

    world.workers[cluster].server.remove(("Job", "ns/train"))
    for _ in range(10):
        world.settle(seconds=60)
    assert world.workers[cluster].get(kind, "ns/like-it") is None
    assert len(world.runs_on()) == 1


def _imitate(world: World3, cluster: str, kind: str, **meta: object) -> None:
    """Create another object on the worker with the labels and annotations of the job. Its status reports the end."""
    real = world.job(cluster)
    assert real is not None
    marks = {key: real["metadata"][key] for key in ("namespace", "labels", "annotations")}
    ended = [{"type": name, "status": "True"} for name in ("Complete", "Completed")]
    status = {"conditions": ended, "phase": "Succeeded"}
    world.workers[cluster].server.add(
        kind, {**real, "metadata": {**marks, "name": "like-it", **meta}, "status": status}
    )
    world.settle()


@pytest.mark.parametrize("kind", ["Job", "Pod"])
def test_objects_owned_by_a_controller_of_the_worker_are_not_deleted(kind: str) -> None:
    world, cluster = placed()
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u", "controller": True}
    _imitate(world, cluster, kind, ownerReferences=[owner], annotations={})
    world.settle(seconds=90)

    assert world.workers[cluster].get(kind, "ns/like-it") is not None
    assert world.runs_on() == [cluster]


def test_a_job_that_is_suspended_on_its_worker_queues_again() -> None:
    world, cluster = placed()
    world.report(cluster, {"active": 1})
    server = world.workers[cluster].server
    there = server.objects["Job", "ns/train"]
    uid = there["metadata"]["uid"]
    server.add("Job", {**there, "spec": {**there["spec"], "suspend": True}})
    world.settle()

    local = world.workload()
    assert local is not None
    evicted = {each["type"]: each for each in local["status"]["conditions"]}["Evicted"]
    assert (evicted["status"], evicted["reason"]) == ("True", "AdmissionCheck")
    assert f'The job was suspended on worker cluster "{cluster}"' in evicted["message"]
    assert world.runs_on() == [], "it is not started again there while its pods leave"

    world.report(cluster, {})
    for _ in range(3):
        world.settle(seconds=70)
    (again,) = world.runs_on()
    assert world.workers[again].server.objects["Job", "ns/train"]["metadata"]["uid"] != uid
    assert world.check()[0] == "Ready"


def test_a_finished_job_is_reported_and_deleted_on_its_worker() -> None:
    for kind, reason in (("Complete", "Succeeded"), ("Failed", "Failed")):
        world, cluster = placed()
        ended = {"type": kind, "status": "True", "message": "so it went"}
        world.report(cluster, {"conditions": [ended], "succeeded": 1})

        here, local = world.job(), world.workload()
        assert here is not None
        assert local is not None
        assert here["status"]["conditions"] == [ended]
        finished = {each["type"]: each for each in local["status"]["conditions"]}["Finished"]
        assert (finished["reason"], finished["message"]) == (reason, "so it went")
        assert world.workload(cluster) is None
        assert world.job(cluster) is None


def test_the_last_of_many_status_changes_is_copied() -> None:
    world, cluster = placed()
    for active in range(1, 9):
        server = world.workers[cluster].server
        server.add("Job", {**server.objects["Job", "ns/train"], "status": {"active": active}})
    world.settle()

    here = world.job()
    assert here is not None
    assert here["status"] == {"active": 8}


def test_invalid_status_counts_of_a_worker_are_not_copied() -> None:
    world, cluster = placed()
    world.report(cluster, {"active": 1, "failed": 2})
    world.report(cluster, {"active": 0, "failed": "three"})

    here = world.job()
    assert here is not None
    assert here["status"] == {"active": 0, "failed": 2}


def test_a_workload_that_fails_does_not_block_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(group: Group) -> list[Decision]:
        if group.local is not None and "train" in group.local.name:
            raise TypeError("of a kind that nobody expects")
        return place(group)

    world = World3()
    monkeypatch.setattr("reconciler.controllers.placement.place", fails)
    world.submit("train")
    world.submit("other")
    assert len(world.runs_on("other")) == 1

    monkeypatch.undo()
    world.settle(seconds=60)
    assert len(world.runs_on("train")) == 1


def test_a_deleted_job_is_deleted_on_its_worker() -> None:
    world, cluster = placed()
    local = world.workload()
    assert local is not None
    world.manager.server.remove(("Job", "ns/train"))
    world.settle()
    world.manager.server.remove(("Workload", f"ns/{local['metadata']['name']}"))
    world.settle()

    assert world.workload() is None
    assert world.workload(cluster) is None
    assert world.job(cluster) is None


def test_a_job_deleted_while_its_worker_was_unreachable_is_garbage_collected() -> None:
    world, cluster = placed()
    world.links.lose(cluster)
    local = world.workload()
    assert local is not None
    world.manager.server.remove(("Job", "ns/train"))
    world.settle()
    world.manager.server.remove(("Workload", f"ns/{local['metadata']['name']}"))
    world.settle()
    assert world.job(cluster) is not None
    world.manager.start(world.clock)
    world.links.connect(cluster)
    world.settle(seconds=61)

    assert world.workload(cluster) is None
    assert world.job(cluster) is None


def test_deleting_another_workload_of_the_job_does_not_end_the_retries() -> None:
    """An elastic job has several, and any user with the right to create Workloads can create one."""
    world = World3()
    for name in world.workers:
        _refuse(world, name, "Job", NotFound(404, "NotFound", "no such kind"))
    world.submit("train")
    local = world.job()
    assert local is not None
    other = builders.workload("other", "main", "1")
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": local["metadata"]["uid"]}
    other["metadata"]["ownerReferences"] = [owner]
    world.manager.server.add("Workload", other)
    world.settle(seconds=5)
    world.manager.server.remove(("Workload", "ns/other"))
    world.settle()

    for worker in world.workers.values():
        del worker.server.perform
    world.settle(seconds=300)
    world.settle(seconds=5)
    assert len(world.runs_on()) == 1


def test_a_failed_delete_on_a_worker_is_repeated_without_the_workload() -> None:
    world, cluster = placed(PlacementSettings(collect_every=0))
    server = world.workers[cluster].server
    perform = server.perform

    def answer(key: Key, action: Action) -> Written | Failed:
        failure = ApiError(500, "InternalError", "etcdserver: request timed out")
        return Failed(key, action, failure) if isinstance(action, Delete) else perform(key, action)

    server.perform = answer  # type: ignore[method-assign]
    local = world.workload()
    assert local is not None
    world.manager.server.remove(("Job", "ns/train"))
    world.manager.server.remove(("Workload", f"ns/{local['metadata']['name']}"))
    world.settle()
    assert world.job(cluster) is not None

    del server.perform
    for _ in range(3):
        world.settle(seconds=5)
    assert world.job(cluster) is None
    assert world.workload(cluster) is None


def test_objects_of_other_users_are_not_changed() -> None:
    world = World3()
    theirs = job("train", managedBy=None)
    for name in world.workers:
        world.workers[name].server.add("Job", theirs)
    world.settle()
    before = world.job("east")
    world.submit("train")
    for _ in range(5):
        world.settle(seconds=6)

    assert world.job("east") == before
    assert "has an object of this name that MultiKueue did not make" in world.check()[1]
    world.manager.server.remove(("Job", "ns/train"))
    world.settle(seconds=61)
    assert world.job("east") == before


def test_the_workload_finishes_although_its_job_cannot_show_this_end() -> None:
    """A previous manager announced that the job fails, and then its worker was disconnected."""
    world, cluster = placed()
    world.report(cluster, {"active": 1, "startTime": "2026-01-01T00:00:00Z"})
    world.settle()
    here = world.job()
    assert here is not None
    announced = {**here["status"], "conditions": [{"type": "FailureTarget", "status": "True"}]}
    world.manager.server.add("Job", {**here, "status": announced})
    complete = [{"type": each, "status": "True", "message": "done"} for each in ("SuccessCriteriaMet", "Complete")]
    world.report(cluster, {"startTime": "2026-01-01T00:00:00Z", "succeeded": 1, "conditions": complete})
    world.settle()

    local = world.workload()
    assert local is not None
    (finished,) = [each for each in local["status"]["conditions"] if each["type"] == "Finished"]
    assert (finished["status"], finished["reason"]) == ("True", "Succeeded")
    here = world.job()
    assert here is not None
    assert here["status"]["conditions"] == announced["conditions"]


def test_a_job_shows_its_end_if_its_workload_event_comes_first() -> None:
    world, cluster = placed()
    world.report(cluster, {"active": 1, "startTime": "2026-01-01T00:00:00Z"})
    world.links.late = {"Job"}
    complete = [{"type": each, "status": "True", "message": "done"} for each in ("SuccessCriteriaMet", "Complete")]
    world.report(cluster, {"startTime": "2026-01-01T00:00:00Z", "succeeded": 1, "conditions": complete})
    world.settle(seconds=1)
    world.links.catch_up()
    world.settle()

    here = world.job()
    assert here is not None
    assert here["status"]["conditions"] == complete
    assert world.job(cluster) is None


def test_a_job_shows_its_end_after_any_delay() -> None:
    """The clocks of two clusters may differ, too, so no fixed wait is long enough."""
    world, cluster = placed()
    world.report(cluster, {"active": 1, "startTime": "2026-01-01T00:00:00Z"})
    world.links.late = {"Job"}
    complete = [{"type": each, "status": "True", "message": "done"} for each in ("SuccessCriteriaMet", "Complete")]
    world.report(cluster, {"startTime": "2026-01-01T00:00:00Z", "succeeded": 1, "conditions": complete})
    for _ in range(3):
        world.settle(seconds=20)
    world.links.catch_up()
    for _ in range(3):
        world.settle(seconds=60)

    here = world.job()
    assert here is not None
    assert here["status"]["conditions"] == complete
    assert world.job(cluster) is None
    assert world.workload(cluster) is None


@pytest.mark.parametrize("late", ["Job", "Workload"])
def test_a_job_deleted_on_its_worker_is_placed_again_in_either_order_of_events(late: str) -> None:
    world, cluster = placed()
    world.report(cluster, {"active": 1})
    world.links.late = {late}
    world.workers[cluster].server.remove(("Job", "ns/train"))
    world.settle(seconds=3)
    world.links.catch_up()
    for _ in range(3):
        world.settle(seconds=20)

    assert len(world.runs_on()) == 1
    assert world.check()[0] == "Ready"


def test_a_job_started_meanwhile_is_not_deleted_before_it_has_stopped() -> None:
    world = World3()
    world.links.late = {"Job"}
    world.submit("train")
    (cluster,) = world.runs_on()
    local = world.workload()
    assert local is not None
    world.manager.server.add("Workload", {**local, "spec": {**local["spec"], "active": False}})
    world.settle(seconds=1)
    assert world.job(cluster) is not None

    world.links.catch_up()
    for _ in range(3):
        world.settle(seconds=2)
    assert world.job(cluster) is None


def test_a_job_without_its_origin_label_does_not_finish_the_workload() -> None:
    """A user of the worker removes the origin label from the job, and then the job ends."""
    world, cluster = placed()
    server = world.workers[cluster].server
    there = server.objects["Job", "ns/train"]
    ended = [{"type": "Complete", "status": "True", "message": "so it went"}]
    labels = {key: value for key, value in there["metadata"]["labels"].items() if key != ORIGIN}
    world.links.cut.add(cluster)
    meta = {**there["metadata"], "labels": labels}
    server.add("Job", {**there, "metadata": meta, "status": {"conditions": ended}})
    world.settle()
    world.links.connect(cluster)
    for _ in range(5):
        world.settle(seconds=6)

    local = world.workload()
    assert local is not None
    assert not [each for each in local["status"]["conditions"] if each["type"] == "Finished"]
    there = server.objects["Job", "ns/train"]
    assert there["status"]["conditions"] == ended, "it is not touched"


def test_a_job_evicted_on_the_manager_is_stopped_on_its_worker_first() -> None:
    world, cluster = placed()
    world.report(cluster, {"active": 1})
    local = world.workload()
    assert local is not None
    world.manager.server.add("Workload", {**local, "spec": {**local["spec"], "active": False}})
    world.settle()
    there = world.job(cluster)
    assert there is not None
    assert there["spec"]["suspend"], "it was evicted there"
    here = world.workload()
    assert here is not None
    assert "admission" in here["status"], "quota is held until its pods are gone"

    world.report(cluster, {})
    world.settle()
    here = world.workload()
    assert here is not None
    assert "admission" not in here["status"]
    assert world.job(cluster) is None
    assert world.workload(cluster) is None


def test_a_job_evicted_by_its_worker_is_placed_again() -> None:
    world, cluster = placed()
    server = world.workers[cluster].server
    server.add("ClusterQueue", _stopped(server.objects["ClusterQueue", "cq"]))
    world.settle()
    for _ in range(4):
        world.settle(seconds=70)

    assert world.runs_on() == [_other(cluster)]
    assert world.workload(cluster) is None


def _stopped(queue: dict[str, Any]) -> dict[str, Any]:
    return {**queue, "spec": {**queue["spec"], "stopPolicy": "HoldAndDrain"}}


def test_a_job_of_an_unreachable_worker_is_placed_again_after_the_timeout() -> None:
    world, cluster = placed(PlacementSettings(worker_lost=300 * SECOND))
    world.report(cluster, {"active": 1})
    world.links.lose(cluster)
    world.settle(seconds=299)
    assert world.check()[0] == "Ready"
    assert world.runs_on() == [cluster]

    world.settle(seconds=2)
    world.settle(seconds=70)
    assert sorted(world.runs_on()) == ["east", "west"], "the one that is cut off goes on, nobody can stop it"
    local = world.workload()
    assert local is not None
    assert local["status"]["clusterName"] == _other(cluster)

    world.links.connect(cluster)
    world.settle()
    assert world.runs_on() == [_other(cluster)]
    assert world.workload(cluster) is None


def test_a_worker_that_reconnects_in_time_keeps_its_job() -> None:
    world, cluster = placed(PlacementSettings(worker_lost=300 * SECOND))
    world.links.lose(cluster)
    world.settle(seconds=200)
    world.manager.start(world.clock)
    world.settle()
    world.links.connect(cluster)
    world.settle()

    assert world.check()[0] == "Ready"
    assert world.runs_on() == [cluster]
    deleted = [key for kind, key in world.workers[cluster].server.writes if kind == "Delete"]
    assert deleted == []


def test_a_preempted_job_of_an_unreachable_worker_is_not_placed_before_the_timeout() -> None:
    world, cluster = placed(PlacementSettings(worker_lost=300 * SECOND))
    world.report(cluster, {"active": 1})
    world.links.lose(cluster)
    local = world.workload()
    assert local is not None
    for active in (False, True):
        local = world.workload()
        assert local is not None
        world.manager.server.add("Workload", {**local, "spec": {**local["spec"], "active": active}})
        world.settle(seconds=20)
    assert world.job(_other(cluster)) is None

    world.settle(seconds=300)
    world.settle(seconds=70)
    assert world.runs_on() == sorted([cluster, _other(cluster)])


def test_a_missing_answer_creates_no_second_job() -> None:
    world = World3()
    for name in world.workers:
        world.links.silent.add((name, "Job"))
    world.submit("train")
    world.links.silent.clear()
    for _ in range(3):
        world.settle(seconds=2)

    (cluster,) = world.runs_on()
    created = [key for kind, key in world.workers[cluster].server.writes if kind == "Create" and key[0] == "Job"]
    assert world.check()[0] == "Ready"
    assert len(created) >= 1
    assert world.job(_other(cluster)) is None


def test_a_job_without_managed_by_stays_suspended_on_the_manager() -> None:
    world = World3()
    world.submit("train", managedBy=None)

    (cluster,) = world.runs_on()
    assert world.check() == ("Pending", f'The workload was admitted on "{cluster}"')
    here = world.job()
    assert here is not None
    assert here["spec"]["suspend"]

    world.report(cluster, {"active": 1})
    here = world.job()
    assert here is not None
    assert "status" not in here
    ended = {"type": "Complete", "status": "True", "message": "done"}
    world.report(cluster, {"conditions": [ended]})
    here = world.job()
    assert here is not None
    assert here["status"] == {"conditions": [ended]}
    assert world.job(cluster) is None


def test_a_running_job_keeps_running_when_its_queue_gets_the_check() -> None:
    world = World3()
    manager = world.manager.server
    queue = manager.objects["ClusterQueue", "cq"]
    bare = {key: value for key, value in queue["spec"].items() if key != "admissionChecksStrategy"}
    manager.add("ClusterQueue", {**queue, "spec": bare})
    world.settle()
    world.submit("train", managedBy=None)
    here = world.job()
    assert here is not None
    assert not here["spec"]["suspend"]

    manager.add("ClusterQueue", {**manager.objects["ClusterQueue", "cq"], "spec": queue["spec"]})
    world.settle()
    here = world.job()
    assert here is not None
    assert not here["spec"]["suspend"], "it is not stopped"
    assert world.runs_on() == []
    world.submit("next")
    assert len(world.runs_on("next")) == 1


def test_a_resized_elastic_job_is_placed_again() -> None:
    """No slice is created on the manager or a worker, and two sizes of the job never run at the same time."""
    world, made = World3(), job("train")
    elastic, pods = "kueue.x-k8s.io/elastic-job", made["spec"]["template"]
    gated = {**pods, "spec": {**pods["spec"], "schedulingGates": [{"name": elastic}]}}
    meta = {**made["metadata"], "annotations": {elastic: "true"}, "generation": 1}
    world.manager.server.add("Job", {**made, "metadata": meta, "spec": {**made["spec"], "template": gated}})
    world.settle()
    (first,) = world.runs_on()
    world.report(first, {"active": 1})

    here = world.job()
    assert here is not None
    grown = {**here, "metadata": {**here["metadata"], "generation": 2}, "spec": {**here["spec"], "parallelism": 3}}
    world.manager.server.add("Job", grown)
    for _ in range(5):
        world.settle(seconds=1)
        for cluster in ("east", "west"):
            there = world.job(cluster)
            if there is not None and there["spec"]["suspend"] and there.get("status", {}).get("active"):
                world.report(cluster, {"active": 0})

    (second,) = world.runs_on()
    there = world.job(second)
    assert there is not None
    assert there["spec"]["parallelism"] == 3
    kept = [key for key in world.manager.server.objects if key[0] == "Workload"]
    assert len(kept) == 1
    whole = world.workload()
    assert whole is not None
    assert whole["spec"]["podSets"][0]["count"] == 3


def test_the_nomination_of_an_external_dispatcher_is_used() -> None:
    world = World3(PlacementSettings(dispatcher="example.com/mine"))
    world.submit("train")
    assert world.workload("east") is None
    local = world.workload()
    assert local is not None
    status = {**local["status"], "nominatedClusterNames": ["west"]}
    world.manager.server.add("Workload", {**local, "status": status})
    world.settle()

    assert world.runs_on() == ["west"]


def test_the_incremental_dispatcher_nominates_the_emptiest_worker_first() -> None:
    rules = {"all": PlacementRules(SPREAD)}
    world = World3(PlacementSettings(dispatcher=INCREMENTAL, step=1, rules=rules))
    world.settle(seconds=2)
    world.submit("first", cpus=6)
    world.settle(seconds=2)
    world.submit("second", cpus=1)

    assert world.runs_on("first") == ["east"], "both were empty"
    assert world.runs_on("second") == ["west"]


def test_each_worker_has_a_reason_for_its_refusal() -> None:
    world = World3()
    world.workers["east"].server.remove(("LocalQueue", "ns/main"))
    world.links.lose("west")
    world.submit("train")
    local = world.workload()
    assert local is not None
    (controller,) = (each for each in world.manager.core.controllers if isinstance(each, PlacementController))
    refused = controller.refused(f"ns/{local['metadata']['name']}", world.now)

    assert [(name, each.reason) for name, each in refused] == [("east", "LocalQueueMissing"), ("west", "Unreachable")]


def test_a_worker_that_fails_to_create_the_copy_is_reported_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World3()
    queues(world.workers["west"].server, cpus=0)
    error = ApiError(500, "InternalError", 'failed calling webhook "mworkload.kb.io"')
    east = world.workers["east"].server
    perform = east.perform

    def fails(key: Key, action: Action) -> Written | Failed:
        return Failed(key, action, error) if isinstance(action, Create) else perform(key, action)

    monkeypatch.setattr(east, "perform", fails)
    world.submit("train")
    for _ in range(2):
        world.settle(seconds=10)

    state, message = world.check()
    assert state == "Pending"
    assert message.startswith(f"east fails to create the copy: {error}; west has no quota for it (")

    monkeypatch.undo()
    world.settle(seconds=60)
    assert world.runs_on() == ["east"]


def test_a_job_of_a_described_kind_is_placed_and_its_status_copied_back() -> None:
    kind = JobKind(SHAPES[GroupKind("jobset.x-k8s.io", "JobSet")])
    world = World3(kinds=(BATCH, kind))
    template = {"spec": {"parallelism": 1, "template": job("x")["spec"]["template"]}}
    spec = {
        "suspend": True,
        "managedBy": "kueue.x-k8s.io/multikueue",
        "replicatedJobs": [{"name": "w", "replicas": 2, "template": template}],
    }
    meta = {"name": "set", "namespace": "ns", "labels": {"kueue.x-k8s.io/queue-name": "main"}}
    made = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": meta, "spec": spec}
    world.manager.server.add(kind.name, made)
    world.settle()

    there = world.workers["east"].get(kind.name, "ns/set")
    assert there is not None
    assert not there["spec"]["suspend"]
    ended = {"type": "Completed", "status": "True", "message": "all jobs completed"}
    world.workers["east"].server.add(kind.name, {**there, "status": {"conditions": [ended]}})
    world.settle()
    here = world.manager.get(kind.name, "ns/set")
    assert here is not None
    assert here["status"] == {"conditions": [ended]}
    assert world.workers["east"].get(kind.name, "ns/set") is None


@pytest.mark.parametrize(("syncs", "serves"), [(True, "two"), (False, "one")])
def test_the_serve_config_of_a_placed_ray_service_can_be_changed(syncs: bool, serves: str) -> None:
    kind = JobKind(SHAPES[GroupKind("ray.io", "RayService")])
    world = World3(PlacementSettings(syncs_spec=syncs), kinds=(BATCH, kind))
    head = {"template": job("x")["spec"]["template"]}
    spec = {
        "managedBy": "kueue.x-k8s.io/multikueue",
        "serveConfigV2": "one",
        "rayClusterConfig": {"suspend": True, "headGroupSpec": head},
    }
    meta = {"name": "serve", "namespace": "ns", "labels": {"kueue.x-k8s.io/queue-name": "main"}}
    made = {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": meta, "spec": spec}
    world.manager.server.add(kind.name, made)
    world.settle()
    there = world.workers["east"].get(kind.name, "ns/serve")
    assert there is not None
    assert there["spec"]["serveConfigV2"] == "one"

    here = world.manager.server.objects[kind.name, "ns/serve"]
    world.manager.server.add(kind.name, {**here, "spec": {**here["spec"], "serveConfigV2": "two"}})
    world.settle()
    after = world.workers["east"].get(kind.name, "ns/serve")
    assert after is not None
    assert after["spec"]["serveConfigV2"] == serves
    assert after["spec"]["rayClusterConfig"]["suspend"] is False
    assert after["metadata"]["uid"] == there["metadata"]["uid"]


def test_workloads_are_placed_when_their_check_becomes_known_later() -> None:
    world = World3()
    server = world.manager.server
    check = server.objects["AdmissionCheck", "multi"]
    server.add("AdmissionCheck", {**check, "spec": {**check["spec"], "controllerName": "example.com/other"}})
    world.settle()
    world.submit("train")
    assert world.runs_on() == []

    server.add("AdmissionCheck", {**server.objects["AdmissionCheck", "multi"], "spec": check["spec"]})
    world.settle()
    assert len(world.runs_on()) == 1


def test_a_workload_of_an_unsupported_kind_is_rejected() -> None:
    world = World3(pods=False)
    world.manager.server.add("Pod", pod("alone", "", 1, queue_name="main"))
    for _ in range(3):
        world.settle(seconds=2)

    local = world.workload()
    assert local is not None
    assert world.check() == (
        "Rejected",
        'No multikueue adapter found for owner kind "/v1, Kind=Pod", Previously: "Pending"',
    )
    assert world.workload("east") is None


def test_only_one_of_two_workers_may_preempt_at_the_same_time() -> None:
    world = World3(PlacementSettings(gated=True))
    for worker in world.workers.values():
        queues(worker.server, cpus=0)
    world.submit("train")

    _block(world, "west")
    world.links.flow()
    world.manager.loop.round(0)
    answers, world.links.reported = world.links.reported, []
    assert _open(world) == ["west"]
    _block(world, "east")
    world.links.flow()
    world.manager.loop.round(0)
    world.links.reported += answers
    world.settle()

    assert _open(world) == ["west"]


def _block(world: World3, cluster: str) -> None:
    """Its copy says that it could preempt if its gate were open."""
    found = world.workload(cluster)
    assert found is not None
    moment = times.rfc3339(world.now)
    blocked = {"type": BLOCKED_ON_GATES, "status": "True", "reason": "Gated", "lastTransitionTime": moment}
    status = {**found["status"], "conditions": [*found["status"]["conditions"], blocked]}
    world.workers[cluster].server.add("Workload", {**found, "status": status})


def _open(world: World3) -> list[str]:
    copies = {name: world.workload(name) for name in world.workers}
    gates = {name: found["status"].get("preemptionGates", []) for name, found in copies.items() if found is not None}
    return [name for name, listed in gates.items() if any(each["position"] == "Open" for each in listed)]
