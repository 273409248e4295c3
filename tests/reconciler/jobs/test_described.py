"""Kinds of jobs with a description: how their status is read, and what is written of them."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from cluster.actions import Apply, Patch
from policies.dialects.job_shape import Active, JobShape, PodSetPath, ReadyPods, Sign, SuspendField
from policies.model.objects import GroupKind
from reconciler.jobs.composed import composed, workload_key
from reconciler.jobs.described import JobKind
from reconciler.jobs.kind import Ending
from reconciler.jobs.life import managed, steps
from reconciler.jobs.pod_changes import CannotStart
from reconciler.jobs.step import JobStep
from scheduling.objects.reading import read_workload
from scheduling.objects.workload import Admission, PodSetAdmission, Workload
from scheduling.status.deadlines import pods_ready
from scheduling.status.eviction import preempt
from scheduling.status.reservation import reserve, sync_admitted
from scheduling.status.writing import written_status
from tests.merging import merged
from tests.profiles import each_case
from tests.reconciler.jobs.specs_by_kind import ROLES, SPECS, kind
from tests.reconciler.jobs.world import AROUND, NOW, K, template


def job(name: str, status: dict[str, Any] | None = None, **labels: str) -> dict[str, Any]:
    shape = kind(name).shape
    meta = {"name": "j", "namespace": "ns", "uid": "u", "resourceVersion": "7"}
    return {
        "apiVersion": f"{shape.kind.group}/{shape.version}",
        "kind": name,
        "metadata": {**meta, "labels": {f"{K}queue-name": "q", **labels}},
        "spec": SPECS[name],
        "status": status or {},
    }


def conditions(**said: str) -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": status, "message": "told"} for kind, status in said.items()]}


def stored(name: str, manifest: dict[str, Any]) -> dict[str, Any]:
    """The Workload of a job as it is made."""
    made = composed(kind(name), manifest, AROUND)
    assert made is not None
    return {**made, "metadata": {**made["metadata"], "resourceVersion": "3", "uid": "w"}}


def admitted(workload: dict[str, Any]) -> Workload:
    names = [each["name"] for each in workload["spec"]["podSets"]]
    given = tuple(PodSetAdmission(name, {"cpu": "spot"}, {"cpu": 1000}, None) for name in names)
    return pods_ready(sync_admitted(reserve(read_workload(workload), Admission("cq", given), NOW), NOW), False, NOW)


def started(name: str) -> tuple[dict[str, Any], dict[str, Any], Workload]:
    """A job that was admitted and runs, its Workload, and the same as decisions see it."""
    suspended = job(name)
    workload = stored(name, suspended)
    read = admitted(workload)
    write = kind(name).starting(suspended, read, AROUND)
    assert write is not None
    return merged(suspended, write.patch.body), {**workload, "status": written_status(read)}, read


def after(manifest: dict[str, Any], step: JobStep) -> dict[str, Any]:
    """What a step's patch makes of an object."""
    assert isinstance(step.action, Patch)
    return merged(manifest, step.action.body)


@pytest.mark.parametrize("name", SPECS)
def test_a_start_unsuspends_and_places_each_template_and_a_stop_reverts_both(name: str) -> None:
    running, workload, read = started(name)
    pods = JobKind(kind(name).shape).pods(running)

    assert not kind(name).suspended(running)
    assert kind(name).runs_as_admitted(running, read, AROUND)
    assert [each.template["spec"]["nodeSelector"] for each in pods] == [{"tier": "spot"}] * len(pods)
    assert steps(kind(name), running, workload, read, replace(AROUND, pods_ready=False), NOW) == []

    (stop,) = steps(kind(name), running, workload, preempt(read, "InClusterQueue", "away", NOW), AROUND, NOW)
    assert (stop.reason, stop.message) == ("Stopped", "away")
    assert after(running, stop) == job(name)


@pytest.mark.parametrize("name", SPECS)
def test_immutable_templates_are_restored_when_the_pods_have_ended(name: str) -> None:
    late = JobKind(replace(kind(name).shape, late=True, active=Active(("status.pods",))))
    running, workload, read = started(name)
    evicted = preempt(read, "InClusterQueue", "away", NOW)

    (stop,) = steps(late, merged(running, {"status": {"pods": 1}}), workload, evicted, AROUND, NOW)
    halted = after(running, stop)
    assert late.suspended(halted)
    assert late.halfway(halted)
    assert [each.template for each in late.pods(halted)] == [each.template for each in late.pods(running)]
    assert steps(late, merged(halted, {"status": {"pods": 1}}), workload, evicted, AROUND, NOW) == []

    (rest,) = steps(late, halted, workload, evicted, AROUND, NOW)
    assert rest.reason == ""
    assert after(halted, rest) == {**job(name), "metadata": {**job(name)["metadata"], "annotations": {}}}
    (gone,) = steps(late, halted, None, None, AROUND, NOW)
    assert not late.halfway(after(halted, gone))


@pytest.mark.parametrize("name", SPECS)
def test_a_running_job_without_a_workload_is_suspended_and_queued(name: str) -> None:
    switch = kind(name).shape.suspend.steps
    running = merged(job(name), _nested(switch, False))
    (step,) = steps(kind(name), running, None, None, AROUND, NOW)

    assert after(running, step) == job(name)
    (made,) = steps(kind(name), job(name), None, None, AROUND, NOW)
    assert (made.reason, made.message) == (
        "CreatedWorkload",
        f"Created Workload: {workload_key(kind(name), job(name))}",
    )


@pytest.mark.parametrize(
    ("name", "where"), [("RayCluster", ()), ("RayJob", ("rayClusterSpec",)), ("RayService", ("rayClusterConfig",))]
)
def test_containers_that_kuberay_adds_are_in_the_workload_and_not_in_the_job(name: str, where: tuple[str, ...]) -> None:
    scaled = merged(job(name), _nested(("spec", *where, "enableInTreeAutoscaling"), True))
    workload = stored(name, scaled)
    read = admitted(workload)
    start = kind(name).starting(scaled, read, AROUND)
    assert start is not None
    running = merged(scaled, start.patch.body)

    assert len(workload["spec"]["podSets"][0]["template"]["spec"]["containers"]) == 2
    assert [len(each.template["spec"]["containers"]) for each in JobKind(kind(name).shape).pods(running)] == [1, 1]
    written = {**workload, "status": written_status(read)}
    assert steps(kind(name), running, written, read, replace(AROUND, pods_ready=False), NOW) == []
    (stop,) = steps(kind(name), running, written, preempt(read, "InClusterQueue", "away", NOW), AROUND, NOW)
    assert after(running, stop) == scaled


def _nested(path: tuple[str, ...], value: object) -> dict[str, Any]:
    made: Any = value
    for step in reversed(path):
        made = {step: made}
    return dict(made)


ACTIVE = {"replicaStatuses": {"Worker": {"active": 1}}}


@each_case(
    ("name", "status", "quiet"),
    [
        ("JobSet", {}, True),
        ("JobSet", {"replicatedJobsStatus": [{"name": "lead"}, {"name": "work", "active": 1}]}, False),
        ("JobSet", conditions(Suspended="False"), False),
        ("JobSet", conditions(Suspended="True"), True),
        *((kind, ACTIVE, False) for kind in ROLES),
        ("PyTorchJob", {"replicaStatuses": {"Worker": {"active": 0, "succeeded": 2}}}, True),
        ("RayJob", {}, True),
        ("RayJob", {"jobDeploymentStatus": "Suspending"}, False),
        ("RayJob", {"jobDeploymentStatus": "Suspended"}, True),
        ("RayCluster", {}, True),
        ("RayCluster", {"state": "ready"}, False),
        ("RayCluster", {"availableWorkerReplicas": 1}, False),
        ("RayCluster", {"state": "suspended"}, True),
        ("RayService", conditions(Ready="True"), False),
        ("RayService", conditions(Ready="False"), True),
    ],
)
def test_a_job_has_pods_according_to_its_status(name: str, status: dict[str, Any], quiet: bool) -> None:
    assert kind(name).quiet(job(name, status)) is quiet


@each_case(
    ("name", "status", "ending"),
    [
        ("JobSet", conditions(Completed="True"), Ending("Succeeded", "told")),
        ("JobSet", conditions(Failed="True"), Ending("Failed", "told")),
        ("JobSet", conditions(Completed="False"), None),
        *((kind, conditions(Running="False", Succeeded="True"), Ending("Succeeded", "told")) for kind in ROLES),
        *((kind, conditions(Failed="True"), Ending("Failed", "told")) for kind in ROLES),
        (
            "RayJob",
            {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", "message": "done"},
            Ending("Succeeded", "done"),
        ),
        ("RayJob", {"jobDeploymentStatus": "Complete", "jobStatus": "STOPPED"}, Ending("Failed", "")),
        ("RayJob", {"jobDeploymentStatus": "Failed", "message": "lost"}, Ending("Failed", "lost")),
        ("RayJob", {"jobDeploymentStatus": "Running", "jobStatus": "SUCCEEDED"}, None),
        ("RayCluster", {"state": "failed"}, None),
    ],
)
def test_a_job_ends_according_to_its_status(name: str, status: dict[str, Any], ending: Ending | None) -> None:
    assert kind(name).ending(job(name, status)) == ending


@each_case(
    ("name", "status", "ready"),
    [
        ("JobSet", {"replicatedJobsStatus": [{"name": "lead", "ready": 1}, {"name": "work", "ready": 1}]}, False),
        ("JobSet", {"replicatedJobsStatus": [{"name": "lead", "succeeded": 1}, {"name": "work", "ready": 2}]}, True),
        *((kind, conditions(Created="True"), False) for kind in ROLES),
        *((kind, conditions(Running="True"), True) for kind in ROLES),
        ("RayJob", {"rayClusterStatus": {"state": "ready"}}, True),
        ("RayJob", {"rayClusterStatus": {}}, False),
        ("RayCluster", {"state": "ready"}, True),
        ("RayService", conditions(Ready="True"), True),
        ("RayService", {}, False),
    ],
)
def test_pods_are_ready_according_to_the_status_of_the_job(name: str, status: dict[str, Any], ready: bool) -> None:
    assert kind(name).ready(job(name, status)) is ready


def test_pods_of_succeeded_jobs_in_a_job_set_are_reclaimable() -> None:
    done = [{"name": "lead", "succeeded": 0}, {"name": "work", "succeeded": 1}]

    assert kind("JobSet").reclaimable(job("JobSet", {"replicatedJobsStatus": done})) == {"work": 3}
    too_many = [{"name": "work", "succeeded": 99}]
    assert kind("JobSet").reclaimable(job("JobSet", {"replicatedJobsStatus": too_many})) == {}
    assert kind("PyTorchJob").reclaimable(job("PyTorchJob", ACTIVE)) == {}


def test_a_job_whose_pod_sets_changed_after_admission_cannot_start() -> None:
    read = admitted(stored("JobSet", job("JobSet")))
    fewer = merged(job("JobSet"), {"spec": {"replicatedJobs": SPECS["JobSet"]["replicatedJobs"][:1]}})

    with pytest.raises(CannotStart, match="quota is assigned to lead, work, the job has lead"):
        kind("JobSet").starting(fewer, read, AROUND)


LARGER: dict[str, Any] = {
    "resources": {"requests": {"cpu": "60"}},
    "overhead": {"cpu": "60"},
    "runtimeClassName": "with-overhead",
    "resourceClaims": [{"name": "device", "resourceClaimTemplateName": "devices"}],
}


@each_case("field", LARGER)
@each_case("name", SPECS)
def test_a_suspended_job_that_requests_more_does_not_start_on_its_old_workload(name: str, field: str) -> None:
    before = job(name)
    workload = stored(name, before)
    waiting, held = read_workload(workload), admitted(workload)
    changed = _with_larger_pods(name, before, {field: LARGER[field]})

    around = replace(AROUND, pods_ready=False)
    (update,) = steps(kind(name), changed, workload, waiting, around, NOW)
    (deletion,) = steps(kind(name), changed, workload, held, around, NOW)

    assert [update.reason, deletion.reason] == ["UpdatedWorkload", "DeletedWorkload"]
    assert field in after(workload, update)["spec"]["podSets"][0]["template"]["spec"]


def _with_larger_pods(name: str, manifest: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    made = deepcopy(manifest)
    held: Any = made
    for step in kind(name).pods(made)[0].path:
        held = held[step]
    held["spec"].update(more)
    return made


def test_a_job_started_by_hand_is_suspended() -> None:
    workload = stored("PyTorchJob", job("PyTorchJob"))
    by_hand = merged(job("PyTorchJob"), {"spec": {"runPolicy": {"suspend": False}}})

    (step,) = steps(kind("PyTorchJob"), by_hand, workload, admitted(workload), AROUND, NOW)
    assert step.message == "Not started as it was admitted"


def test_a_preempted_job_keeps_its_quota_until_its_pods_have_ended() -> None:
    running, workload, read = started("RayJob")
    evicted = preempt(read, "InClusterQueue", "away", NOW)
    halted = merged(job("RayJob"), {"status": {"jobDeploymentStatus": "Suspending"}})

    assert steps(kind("RayJob"), halted, workload, evicted, AROUND, NOW) == []
    gone = merged(running, {"status": {"jobDeploymentStatus": "Suspended"}, "spec": SPECS["RayJob"]})
    (restored,) = steps(kind("RayJob"), gone, workload, evicted, AROUND, NOW)
    (step,) = steps(kind("RayJob"), after(gone, restored), workload, evicted, AROUND, NOW)
    reported = after({"metadata": {}, "status": workload["status"]}, step)["status"]["conditions"]
    assert {each["type"]: each["status"] for each in reported}["QuotaReserved"] == "False"


def test_a_ray_job_with_failed_validation_is_on_hold_until_it_is_fixed() -> None:
    running, workload, read = started("RayJob")
    failed = merged(running, {"status": {"jobDeploymentStatus": "ValidationFailed"}})
    kept = steps(kind("RayJob"), failed, workload, read, AROUND, NOW, pods_run=True)
    assert not any("QuotaReserved" in str(step.action) for step in kept), "its Pods use quota"

    (step,) = steps(kind("RayJob"), failed, workload, read, AROUND, NOW)
    assert isinstance(step.action, Apply)
    held = {**workload, "status": {**workload["status"], **step.action.body["status"], "admission": None}}
    waits = read_workload(held)
    quota = waits.conditions["QuotaReserved"]
    assert (quota.status, quota.reason, quota.message) == ("False", "OnHold", "Job is on hold")
    assert not waits.queueable
    assert steps(kind("RayJob"), failed, held, waits, AROUND, NOW) == []

    mended = merged(failed, {"spec": {"suspend": True}, "status": {"jobDeploymentStatus": "Suspended"}})
    (step,) = steps(kind("RayJob"), mended, held, waits, AROUND, NOW)
    assert isinstance(step.action, Apply)
    again = read_workload({**held, "status": {**held["status"], **step.action.body["status"]}})
    assert again.conditions["QuotaReserved"].reason == "Pending"
    assert again.queueable


def test_a_prebuilt_workload_is_used_only_by_kinds_that_support_it() -> None:
    named = {f"{K}prebuilt-workload-name": "mine"}

    assert workload_key(kind("RayCluster"), job("RayCluster", **named)) == "ns/mine"
    assert workload_key(kind("JAXJob"), job("JAXJob", **named)).startswith("ns/jaxjob-j-")
    assert steps(kind("RayCluster"), job("RayCluster", **named), None, None, AROUND, NOW) == []


def test_a_ray_job_in_an_existing_cluster_and_a_child_job_are_not_managed() -> None:
    elsewhere = merged(job("RayJob"), {"spec": {"clusterSelector": {"ray.io/cluster": "c"}}})
    owned = job("RayCluster")

    assert not managed(kind("RayJob"), elsewhere, AROUND)
    assert managed(kind("RayCluster"), owned, AROUND)
    assert not managed(kind("RayCluster"), owned, replace(AROUND, child=lambda job: job is owned))


def test_a_kind_without_status_fields_is_ready_never_ends_and_has_no_pods() -> None:
    shape = JobShape(
        kind=GroupKind("example.com", "Train"),
        version="v1",
        plural="trains",
        pod_sets=(PodSetPath("main", "spec.pod"),),
        suspend=SuspendField("spec.state", "Halted", "Going"),
    )
    train = {"spec": {"state": "Halted", "pod": template()}, "status": {"anything": 1}}

    assert JobKind(shape).ready(train)
    assert JobKind(shape).quiet(train)
    assert JobKind(shape).ending(train) is None
    assert JobKind(shape).reclaimable(train) == {}
    counted = replace(shape, ready=ReadyPods(counts=("status.anything",)))
    assert JobKind(counted).ready(train)
    assert not JobKind(counted).ready({**train, "status": {}})
    restless = replace(shape, active=Active(sign=Sign(fields={"status.anything": (1,)})))
    assert not JobKind(restless).quiet(train)


@each_case("nonsense", [None, 3, "x", [], [3], {"a": 3}, {"": []}])
@each_case("name", SPECS)
def test_an_invalid_job_causes_no_internal_error(name: str, nonsense: object) -> None:
    for odd in ({**job(name), "spec": nonsense}, {**job(name), "status": nonsense}):
        for key in SPECS[name]:
            spec = {**SPECS[name], key: nonsense}
            each = {**odd, "spec": spec} if odd["spec"] is SPECS[name] else odd
            steps(kind(name), each, None, None, AROUND, NOW)
            kind(name).ready(each)
            kind(name).reclaimable(each)
            kind(name).stopping(each, stored(name, job(name)), True)
