"""The Workload of a job: other Workloads of the job are deleted, and one that several jobs name wakes all of them."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

from cluster.actions import Create, Delete, Patch
from policies.dialects.core import POD
from policies.dialects.kueue_jobs import BATCH_JOB
from reconciler.controllers.jobs.controller import JobsController
from reconciler.controllers.jobs.record import PODS_PATIENCE as PATIENCE
from reconciler.controllers.jobs.record import Event, JobId, JobState
from reconciler.controllers.jobs.started_pods import StartedPod
from reconciler.controllers.jobs.store import OVERDUE, JobStore
from reconciler.jobs.batch_job import BATCH
from reconciler.objects.observed import Observed
from reconciler.objects.packed import Packed
from reconciler.objects.wanted import WantedWrite
from scheduling.objects.reading import read_workload
from scheduling.objects.times import SECOND
from tests.reconciler.driver import Driver
from tests.reconciler.jobs.world import AROUND, NOW, K, World, job

MINUTE = 60 * SECOND


class Stage:
    """A controller of batch Jobs, and the Workloads that are stored."""

    def __init__(self) -> None:
        self.stored: dict[str, Observed] = {}
        self.controller = JobsController(self.stored.get, others=(POD,))
        self.controller.inputs_changed(AROUND)
        self.driver = Driver(self.controller)
        self.now = NOW

    def observe(self, manifest: dict[str, Any], name: str = "j") -> None:
        self.controller.observe(Observed(("Job", f"ns/{name}"), "1", Packed.of(manifest)))

    def lose(self, name: str = "j") -> None:
        """The job is deleted, or its queue label is removed."""
        self.controller.observe(Observed(("Job", f"ns/{name}"), "2", None))

    def keep(self, workload: dict[str, Any], name: str = "", **meta: object) -> str:
        changed = {"name": name or workload["metadata"]["name"], "resourceVersion": "1", **meta}
        whole = {**workload, "metadata": {**workload["metadata"], **changed}}
        key = f"ns/{changed['name']}"
        self.stored[key] = Observed(("Workload", key), "1", read_workload(whole), Packed.of(whole))
        self.controller.workload_changed(key)
        return key

    def drop(self, key: str) -> None:
        del self.stored[key]
        self.controller.workload_changed(key)

    def due(self, *busy: str) -> list[WantedWrite]:
        return self.driver.due(self.now, lambda kind, name: kind in busy or name in busy)

    def deleted(self, *busy: str) -> list[str]:
        return [write.key[1] for write in self.due(*busy) if isinstance(write.action, Delete)]


def named(manifest: dict[str, Any], workload: str, uid: str = "job-uid", name: str = "j") -> dict[str, Any]:
    """The same job, but it names a prebuilt Workload."""
    made = deepcopy(manifest)
    made["metadata"].update(name=name, uid=uid)
    made["metadata"]["labels"][f"{K}prebuilt-workload-name"] = workload
    return made


def waiting() -> World:
    """A suspended Job whose Workload waits."""
    world = World(job())
    world.settle()
    return world


def running() -> World:
    world = waiting()
    world.admit()
    world.settle()
    assert world.job["spec"]["suspend"] is False
    return world


def holding() -> World:
    """A suspended Job that has quota, and was not started yet."""
    world = waiting()
    world.admit()
    return world


def test_a_job_that_names_the_workload_of_another_job_does_not_stop_its_updates() -> None:
    stage, world = Stage(), running()
    assert world.stored is not None
    bare = world.key.removeprefix("ns/")
    stage.keep(world.stored)
    stage.observe(world.job)
    stage.observe(named(job(), bare, "other-uid", "k"), "k")
    stage.due()

    world.preempt()
    stage.keep(world.stored)
    patches = {write.key: write.action for write in stage.due() if isinstance(write.action, Patch)}
    assert patches["Job", "ns/j"].body["spec"]["suspend"] is True

    stage.lose("k")
    stage.keep(world.stored)
    assert ("Job", "ns/j") in {write.key for write in stage.due()}


def test_the_first_workload_of_a_suspended_job_is_deleted_when_the_job_names_another() -> None:
    stage, world = Stage(), waiting()
    assert world.stored is not None
    own = stage.keep(world.stored)
    stage.observe(world.job)
    assert stage.deleted() == []

    stage.observe(named(world.job, "other"))
    (write,) = [write for write in stage.due() if isinstance(write.action, Delete)]
    assert (write.key, write.reason) == (("Workload", own), "DeletedWorkload")
    assert isinstance(write.action, Delete)
    assert write.action.resource_version == "1"

    going = stage.keep(world.stored, deletionTimestamp="2025-01-01T00:00:00Z")
    (let_go,) = [write for write in stage.due() if write.key == ("Workload", going)]
    assert isinstance(let_go.action, Patch)
    assert let_go.action.body == {"metadata": {"finalizers": []}}
    stage.drop(going)
    assert stage.due() == []


def test_a_workload_that_pods_run_on_stays_until_its_job_is_stopped() -> None:
    stage, world = Stage(), running()
    assert world.stored is not None
    own = stage.keep(world.stored)
    stage.observe(named(world.job, "other"))
    (stop,) = stage.due()
    assert stop.key == ("Job", "ns/j")

    going = stage.keep(world.stored, deletionTimestamp="2025-01-01T00:00:00Z")
    assert [write.key for write in stage.due()] == [("Job", "ns/j")]
    stopped = deepcopy(world.job)
    stopped["spec"]["suspend"], stopped["status"] = True, {}
    stage.observe(named(stopped, "other"))
    assert ("Workload", going) in {write.key for write in stage.due()}

    stage.keep(world.stored)
    stage.observe(named(stopped, "other"))
    assert stage.deleted() == [own]


def test_a_workload_that_the_job_does_not_control_or_that_is_being_written_is_not_deleted() -> None:
    stage, world = Stage(), waiting()
    assert world.stored is not None
    own = stage.keep(world.stored)
    beside = {**world.stored["metadata"]["ownerReferences"][0], "controller": False}
    stage.keep(world.stored, name="beside", ownerReferences=[beside])
    stage.observe(named(world.job, "other"))

    assert stage.deleted(own) == []
    stage.observe(named(world.job, "other"))
    assert stage.deleted() == [own]


def test_the_workload_of_a_job_that_is_no_longer_queued_is_deleted_after_a_minute() -> None:
    for world in (waiting(), holding()):
        stage = Stage()
        assert world.stored is not None
        own = stage.keep(world.stored)
        stage.observe(world.job)
        stage.due()
        stage.lose()

        assert stage.deleted() == []
        stage.now += MINUTE
        assert stage.deleted("Workload") == []
        assert stage.deleted() == [own]


def test_a_job_that_is_seen_again_keeps_its_workload() -> None:
    stage, world = Stage(), waiting()
    assert world.stored is not None
    stage.keep(world.stored)
    stage.due()
    stage.observe(world.job)
    stage.now += MINUTE
    assert stage.deleted() == []

    stage.lose()
    stage.due()
    stage.now += MINUTE // 2
    stage.observe(world.job)
    stage.now += MINUTE
    assert stage.deleted() == []


def test_running_finished_and_foreign_workloads_are_not_deleted() -> None:
    stage, world = Stage(), running()
    assert world.stored is not None
    stage.keep(world.stored)
    stage.observe(world.job)
    stage.due()
    stage.lose()
    over = waiting()
    over.end("Complete", "well")
    over.settle()
    assert over.stored is not None
    stage.keep(over.stored, name="over", ownerReferences=[{**_owner(over), "uid": "u2"}])
    pod = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u3", "controller": True}
    stage.keep(waiting().stored or {}, name="of-pods", ownerReferences=[pod])

    stage.due()
    stage.now += MINUTE
    assert stage.deleted() == []


def test_a_job_in_an_unmanaged_namespace_loses_its_workload_after_a_minute() -> None:
    stage, world = Stage(), waiting()
    assert world.stored is not None
    own = stage.keep(world.stored)
    stage.observe(world.job)
    stage.due()
    stage.controller.inputs_changed(replace(AROUND, selected=lambda _: False))

    stage.due()
    stage.now += MINUTE
    assert stage.deleted() == [own]
    stage.controller.inputs_changed(AROUND)
    assert stage.deleted() == []
    assert not [write for write in stage.due() if isinstance(write.action, Create)]


def test_the_store_is_empty_after_all_objects_are_deleted() -> None:
    stage, world = Stage(), waiting()
    assert world.stored is not None
    for number in range(10):
        stage.keep(world.stored, name=f"w{number}")
        stage.keep(world.stored, name=f"w{number}", deletionTimestamp="2025-01-01T00:00:00Z")
        stage.observe(world.job)
        stage.lose()
        stage.drop(f"ns/w{number}")

    store = stage.controller.store
    assert not any((store.jobs, store._of_name, store.workloads, store.stale, store.stale_workloads, store.unresolved))


def test_hidden_jobs_become_overdue_in_order_after_a_while() -> None:
    store = JobStore({BATCH_JOB: BATCH})
    first, second = (store.job(JobId("Job", f"ns/{name}", name)) for name in "ab")
    for record in (first, second):
        record.workloads[f"ns/of-{record.id.uid}"] = None
    store.stamp(0)
    store.come_due(OVERDUE - 1)
    assert not store.stale_workloads
    store.wait_anew(second)
    store.stamp(5)

    store.come_due(OVERDUE)
    assert [*store.stale_workloads] == ["ns/of-a"]
    assert (store.is_overdue(first, OVERDUE), store.is_overdue(second, OVERDUE)) == (True, False)
    store.come_due(OVERDUE + 5)
    assert [*store.stale_workloads] == ["ns/of-a", "ns/of-b"]
    store.wait_no_more(first)
    assert not store.is_overdue(first, OVERDUE)


def test_a_pod_that_was_resized_back_or_replaced_is_not_given_up() -> None:
    store = JobStore({BATCH_JOB: BATCH})
    pod = StartedPod("ns/w", uid="1", asks={"cpu": 1})
    for later in (pod, pod._replace(uid="2", asks={"cpu": 2})):
        store.put_pod("ns/p", pod)
        store.put_pod("ns/p", pod._replace(asks={"cpu": 2}))
        assert [*store.workloads["ns/w"].given_up] == ["ns/p"]

        store.put_pod("ns/p", later)
        assert not store.workloads["ns/w"].given_up


def test_a_job_record_has_the_history_of_its_states() -> None:
    stage, world = Stage(), waiting()
    assert world.stored is not None
    stage.keep(world.stored)
    stage.observe(world.job)
    stage.due()
    stage.now += SECOND
    stage.lose()
    stage.due()
    stage.controller.gone(("Job", "ns/j"))
    stage.due()

    (record,) = stage.controller.store.jobs.values()
    assert [(each.at - NOW, each.event, each.after) for each in record.changes] == [
        (0, Event.SHOWN, JobState.SHOWN),
        (0, Event.LOOK, JobState.QUEUED),
        (SECOND, Event.HIDDEN, JobState.UNRESOLVED),
        (SECOND, Event.LOOK, JobState.SOUGHT),
        (SECOND, Event.NOT_FOUND, JobState.MISSING),
    ]


def test_a_job_is_read_once_until_its_workload_is_overdue() -> None:
    stage, world = Stage(), holding()
    assert world.stored is not None
    for _ in range(2):
        stage.keep(world.stored)
        stage.due()
    assert len(stage.driver.asked) == 1

    stage.now += MINUTE
    stage.due()
    stage.now += PATIENCE
    for _ in range(2):
        stage.due()
    assert len(stage.driver.asked) == 2


def _owner(world: World) -> dict[str, Any]:
    assert world.stored is not None
    owner: dict[str, Any] = world.stored["metadata"]["ownerReferences"][0]
    return owner
