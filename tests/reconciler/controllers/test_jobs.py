"""The controller of jobs: jobs of several kinds, and Workloads of deleted jobs."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.actions import Apply, Create, Patch
from policies.dialects.core import POD
from policies.dialects.naming import NAMING, Naming
from policies.model.objects import GroupKind
from reconciler.controllers.jobs.controller import JobsController
from reconciler.controllers.jobs.started_pods import STARTED_PODS, StartedPod
from reconciler.controllers.stored_workloads import StoredWorkloads
from reconciler.jobs.batch_job import BATCH
from reconciler.jobs.composed import RequestCache, composed
from reconciler.jobs.kinds import SHIPPED
from reconciler.jobs.step import JobInputs
from reconciler.objects.observed import Observed
from reconciler.objects.packed import Packed
from scheduling.objects.reading import read_workload
from tests.reconciler.driver import Driver, never
from tests.reconciler.jobs.world import NOW, K, job, template
from tests.scheduling.calls import calls

JOB_SET = SHIPPED[GroupKind("jobset.x-k8s.io", "JobSet")]
SPECS: dict[str, dict[str, Any]] = {
    "Job": {"suspend": True, "template": template()},
    "JobSet": {"suspend": True, "replicatedJobs": [{"name": "a", "template": {"spec": {"template": template()}}}]},
}

_UNREPORTED = JobInputs(pods_ready=False)
"""Nothing is written of its pods, so each look goes on to what it asks for."""


class Stage:
    """A controller of batch Jobs and JobSets, and the Workloads that are stored."""

    def __init__(self, naming: Naming = NAMING) -> None:
        self.stored: dict[str, Observed] = {}
        self.controller = JobsController(self.stored.get, (BATCH.named(naming), JOB_SET.named(naming)), (POD,))
        self.driver = Driver(self.controller)

    def observe(self, kind: str, name: str, gone: bool = False, version: str = "1", **spec: Any) -> None:
        served = "batch/v1" if kind == "Job" else "jobset.x-k8s.io/v1alpha2"
        meta = {"name": name, "namespace": "ns", "uid": f"{kind}-{name}", "resourceVersion": version}
        meta_labels = {"labels": {f"{K}queue-name": "q"}}
        job = {"apiVersion": served, "kind": kind, "metadata": {**meta, **meta_labels}, "spec": {**SPECS[kind], **spec}}
        called = "Job" if kind == "Job" else JOB_SET.name
        self.controller.observe(Observed((called, f"ns/{name}"), version, None if gone else Packed.of(job)))

    def keep(self, workload: dict[str, Any], **meta: object) -> str:
        whole = {**workload, "metadata": {**workload["metadata"], "resourceVersion": "1", **meta}}
        name = f"ns/{whole['metadata']['name']}"
        self.stored[name] = Observed(("Workload", name), "1", read_workload(whole), Packed.of(whole))
        self.controller.workload_changed(name)
        return name

    def due(self, *busy: str) -> list[Any]:
        """`busy` are kinds, or names of objects that are being written."""
        return self.driver.due(NOW, lambda kind, name: kind in busy or name in busy)


def test_jobs_of_two_kinds_with_one_name_get_a_workload_each() -> None:
    stage = Stage()
    stage.observe("Job", "j")
    stage.observe("JobSet", "j")

    job, job_set = stage.due()
    assert [write.about.kind for write in (job, job_set)] == ["Job", "JobSet"]
    assert [write.about.uid for write in (job, job_set)] == ["Job-j", "JobSet-j"]
    assert job_set.about.api_version == "jobset.x-k8s.io/v1alpha2"
    assert job.key[1].startswith("ns/job-j-")
    assert job_set.key[1].startswith("ns/jobset-j-")
    assert isinstance(job_set.action, Create)


def test_a_pod_that_was_read_is_not_an_answer_about_a_job() -> None:
    stage = Stage()
    stage.observe("Job", "j")
    pod = StartedPod("ns/job-j", deleting=False)

    stage.controller.found(Observed((STARTED_PODS.kind, "ns/pod"), "2", pod))
    stage.controller.gone((STARTED_PODS.kind, "ns/pod"))

    assert [write.about.name for write in stage.due()] == ["j"]


LONG = "j" * 60


@pytest.mark.parametrize("former", [False, True], ids=["names become short", "names become long"])
@pytest.mark.parametrize("job_first", [False, True])
def test_a_workload_with_the_former_name_is_still_used_for_its_job(job_first: bool, former: bool) -> None:
    before = Stage(Naming(short=former))
    before.observe("Job", LONG)
    (made,) = before.due()

    stage = Stage(Naming(short=not former))
    looks = [lambda: stage.observe("Job", LONG), lambda: stage.keep(dict(made.action.body))]
    for look in looks if job_first else reversed(looks):
        look()
    written = [(write.key, type(write.action)) for write in stage.due()]
    assert written == [(made.key, Apply)], "nothing but its status: PodsReady"

    del stage.stored[made.key[1]]
    stage.controller.workload_changed(made.key[1])
    stage.observe("Job", LONG, gone=True)
    stage.observe("Job", LONG)
    (anew,) = [write for write in stage.due() if isinstance(write.action, Create)]
    assert anew.key != made.key


def test_a_new_leader_lists_all_job_kinds_again() -> None:
    assert [(each.kind, each.relist) for each in Stage().controller.watched] == [
        ("Job", True),
        (JOB_SET.name, True),
        ("StartedPod", True),
    ]


def test_a_write_of_one_job_kind_does_not_block_the_other() -> None:
    stage = Stage()
    stage.observe("Job", "j")
    stage.observe("JobSet", "j")

    assert [write.about.kind for write in stage.due("Job")] == ["JobSet"]
    assert [write.about.kind for write in stage.due(JOB_SET.name)] == ["Job"]
    assert stage.due("Workload") == []


def test_a_change_of_a_workload_wakes_its_job() -> None:
    stage = Stage()
    stage.observe("JobSet", "j")
    (made,) = stage.due()
    running = dict(made.action.body)
    stage.keep(running, finalizers=[f"{K}resource-in-use"], deletionTimestamp="2025-01-01T00:00:00Z", uid="w")

    (write,) = stage.due()
    assert write.key[0] == "Workload"
    assert isinstance(write.action, Patch)
    assert write.action.body == {"metadata": {"finalizers": []}}


def test_a_workload_loses_its_finalizer_when_its_job_is_deleted_but_not_one_of_pods() -> None:
    stage = Stage()
    stage.observe("Job", "j")
    (made,) = stage.due()
    stage.observe("Job", "j", gone=True)
    going = {"finalizers": [f"{K}resource-in-use"], "deletionTimestamp": "2025-01-01T00:00:00Z"}
    name = stage.keep(dict(made.action.body), **going)
    pod = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    stage.keep(dict(made.action.body), **going, name="of-pods", ownerReferences=[pod])

    assert [write.key for write in stage.due()] == [("Workload", name)]


def test_a_change_of_the_inputs_reconciles_jobs_in_batches() -> None:
    stage = Stage()
    for number in range(600):
        stage.observe("Job", f"j{number}")
    assert len(stage.due()) == 600
    assert len(stage.due("Workload")) == 0
    looked: list[str] = []
    stage.controller.store.stale.clear()
    stage.controller._workloads = stage.controller._around.workloads = StoredWorkloads(lambda name: looked.append(name))

    stage.controller.inputs_changed(JobInputs())
    sizes = []
    for _ in range(4):
        before = len(looked)
        list(stage.controller.reconcile(never, NOW))
        stage.controller.store.stale.clear()
        sizes.append(len(set(looked[before:])))

    assert sizes == [250, 250, 100, 0]


def test_a_refused_write_is_sent_again_after_its_backoff() -> None:
    stage = Stage()
    stage.observe("Job", "j")
    (first,) = stage.due()
    assert stage.due("Workload") == []

    (again,) = stage.due()

    assert (again.key, type(again.action)) == (first.key, Create)


def test_a_job_that_is_nested_too_deep_is_ignored_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    (watched, _) = JobsController({}.get, (JOB_SET,)).watched
    deep: dict[str, Any] = {}
    for _ in range(100):
        deep = {"a": deep}
    job = {"kind": "JobSet", "metadata": {"name": "j", "namespace": "ns", "resourceVersion": "1"}, "spec": deep}

    assert watched.observed(job).value is None
    assert "JobSet ns/j is nested deeper than 100 levels" in caplog.text
    assert watched.observed({**job, "spec": {}}).value is not None


def test_requests_of_a_job_are_computed_once_for_each_version() -> None:
    stage = Stage()
    stage.controller.inputs_changed(_UNREPORTED)
    stage.observe("Job", "j")
    (made,) = stage.due()

    def looks(count: int) -> int:
        def look() -> None:
            for _ in range(count):
                stage.keep(dict(made.action.body), creationTimestamp="2025-01-01T00:00:00Z")
                stage.due()

        return calls(look, of=composed)

    assert looks(5) == 1
    stage.controller.inputs_changed(_UNREPORTED)
    assert looks(5) == 1


def test_a_pending_job_that_changes_is_compared_again() -> None:
    stage = Stage()
    stage.controller.inputs_changed(_UNREPORTED)
    stage.observe("Job", "j")
    (made,) = stage.due()
    stage.keep(dict(made.action.body))
    assert [write.reason for write in stage.due()] == []

    stage.observe("Job", "j", version="2", parallelism=3)

    assert [write.reason for write in stage.due()] == ["UpdatedWorkload"]


def test_a_recreated_job_is_compared_again() -> None:
    """A backup of another cluster may restore a resourceVersion, but never a uid."""
    before, after = job(), job(parallelism=3, completions=3)
    for each, uid in ((before, "a"), (after, "b")):
        each["metadata"] |= {"uid": uid, "resourceVersion": "7"}
    known, inputs = RequestCache(), JobInputs()

    assert known.work(BATCH, before, inputs) != known.work(BATCH, after, inputs)


def test_at_most_1024_jobs_are_cached() -> None:
    known, inputs = RequestCache(), JobInputs()
    for number in range(1030):
        each = job()
        each["metadata"] |= {"uid": f"u{number}", "resourceVersion": "1"}
        known.work(BATCH, each, inputs)

    def again(uid: str) -> int:
        each = job()
        each["metadata"] |= {"uid": uid, "resourceVersion": "1"}
        return calls(lambda: known.work(BATCH, each, inputs), of=composed)

    assert (again("u1029"), again("u0")) == (0, 1)


def test_a_job_with_too_many_pod_sets_is_not_cached() -> None:
    known, inputs, parts = RequestCache(), JobInputs(), SPECS["JobSet"]["replicatedJobs"]
    meta = {"name": "j", "namespace": "ns", "uid": "u", "resourceVersion": "1", "labels": {f"{K}queue-name": "q"}}
    many = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": meta,
        "spec": {"replicatedJobs": [{**parts[0], "name": f"p{number}"} for number in range(500)]},
    }

    assert known.work(JOB_SET, many, inputs) == known.work(JOB_SET, many, inputs)
    assert calls(lambda: known.work(JOB_SET, many, inputs), of=composed) == 1
