"""What is copied of a Workload and of a job to another cluster, and what is copied back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policies.dialects.frameworks import SHAPES
from policies.dialects.naming import NAMING
from policies.model.objects import GroupKind
from reconciler.jobs.batch_job import BATCH
from reconciler.jobs.described import JobKind
from reconciler.jobs.kinds import SHIPPED
from reconciler.multikueue.copies import (
    clone_change,
    clone_of,
    job_change,
    job_copy,
    owner_job,
    remote_job,
    settled,
    status_for,
)
from scheduling.placement.group import RemoteJob
from scheduling.placement.settings import PlacementSettings

JOB_SET = JobKind(SHAPES[GroupKind("jobset.x-k8s.io", "JobSet")])
MANAGED = "kueue.x-k8s.io/multikueue"


HERE = PlacementSettings(origin="here")


def job(**spec: Any) -> dict[str, Any]:
    labels = {"kueue.x-k8s.io/queue-name": "main", "team": "ml"}
    meta = {"name": "train", "namespace": "ns", "uid": "u1", "labels": labels, "resourceVersion": "7"}
    own = {"metadata": {"labels": {"controller-uid": "u1", "app": "x"}}, "spec": {"containers": []}}
    made = {"suspend": True, "managedBy": MANAGED, "selector": {"matchLabels": {}}, "template": own, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": made, "status": {"active": 1}}


def job_set(**status: Any) -> dict[str, Any]:
    spec = {"suspend": True, "managedBy": MANAGED, "replicatedJobs": []}
    meta = {"name": "train", "namespace": "ns", "uid": "u1", "annotations": {"kueue.x-k8s.io/stopping": "true"}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": meta,
        "spec": spec,
        "status": status,
    }


def test_a_workload_is_copied_without_fields_of_this_cluster() -> None:
    labels = {"kueue.x-k8s.io/job-uid": "u1", "team": "ml"}
    meta = {"name": "w", "namespace": "ns", "uid": "u2", "labels": labels, "ownerReferences": [{}], "finalizers": ["x"]}
    found = clone_of({"metadata": meta, "spec": {"queueName": "main"}, "status": {"admission": {}}}, "here")

    assert found["spec"] == {"queueName": "main"}
    assert found["metadata"] == {
        "name": "w",
        "namespace": "ns",
        "labels": {"team": "ml", "kueue.x-k8s.io/multikueue-origin": "here"},
        "annotations": {"kueue.x-k8s.io/multikueue-origin-uid": "u2"},
    }
    gated = clone_of({"metadata": meta, "spec": {}}, "here", gated=True)
    assert gated["spec"] == {"preemptionGates": [{"name": MANAGED}]}


def test_a_copy_follows_changes_and_keeps_its_gates() -> None:
    here = {"spec": {"priority": 5, "queueName": "main"}}
    there = {
        "spec": {"priority": 1, "queueName": "main", "active": False, "preemptionGates": [{"name": "x"}], "old": 1}
    }

    assert clone_change(here, there) == {"priority": 5, "old": None}


def test_a_job_copy_is_suspended_and_not_managed_by_multikueue() -> None:
    found = job_copy(BATCH, job(suspend=False, ttlSecondsAfterFinished=5), "w", HERE)

    assert found["metadata"]["annotations"]["kueue.x-k8s.io/prebuilt-workload-name"] == "w"
    assert found["spec"] == {
        "suspend": True,
        "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": []}},
    }
    assert "status" not in found
    assert "resourceVersion" not in found["metadata"]


@pytest.mark.parametrize(("size", "part"), [(63, "labels"), (64, "annotations")])
def test_without_the_gate_the_workload_name_is_in_a_label_if_it_fits(size: int, part: str) -> None:
    """Even if the job on the manager names another Workload in its label or annotation."""
    key = "kueue.x-k8s.io/prebuilt-workload-name"
    submitted = job()
    submitted["metadata"] |= {"labels": {key: "other"}, "annotations": {key: "another"}}
    meta = job_copy(BATCH, submitted, "w" * size, replace(HERE, annotated=False))["metadata"]

    assert {name: found[key] for name, found in meta.items() if isinstance(found, dict) and key in found} == {
        part: "w" * size
    }
    assert NAMING.prebuilt(meta) == "w" * size, "so it is found under either value of the gate"


def test_jobs_of_described_kinds_are_copied() -> None:
    found = job_copy(JOB_SET, job_set(), "w", HERE)

    assert found["spec"] == {"suspend": True, "replicatedJobs": []}
    marks = {"kueue.x-k8s.io/multikueue-origin-uid": "u1", "kueue.x-k8s.io/prebuilt-workload-name": "w"}
    assert found["metadata"]["annotations"] == marks
    assert owner_job(JOB_SET, job_set()).managed
    assert owner_job(JOB_SET, job_set()).kind == "jobset.x-k8s.io/v1alpha2, Kind=JobSet"


@pytest.mark.parametrize("policy", [None, "none", []])
def test_a_copy_is_suspended_with_any_value_in_place_of_the_suspend_field(policy: object) -> None:
    kind = JobKind(SHAPES[GroupKind("kubeflow.org", "PyTorchJob")])
    found = job_copy(kind, {**job_set(), "spec": {"runPolicy": policy}}, "w", HERE)

    assert found["spec"] == {"runPolicy": {"suspend": True}}


def test_a_status_is_copied_back_if_the_manager_does_not_write_it() -> None:
    runs, stopped = job(suspend=False), job()
    stopped["status"] = {}
    there = job(suspend=False)
    there["status"] = {"active": 2}
    over = {**there, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}

    assert status_for(BATCH, runs, there) == {"active": 2}
    assert status_for(BATCH, stopped, there) is None, "it is still to be started here"
    assert status_for(BATCH, job(suspend=False, managedBy=None), there) is None, "somebody here writes it"
    for here in (runs, stopped, job(managedBy=None)):
        assert status_for(BATCH, here, over) == over["status"]


START, LATER = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"


def test_a_second_run_keeps_counters_and_start_time_of_the_first() -> None:
    """An API server rejects a Job status if its counters decrease, or if its start time changes while it runs."""
    here = {**job(suspend=False), "status": {"startTime": START, "failed": 2, "succeeded": 1, "active": 1}}
    there = {**job(suspend=False), "status": {"startTime": LATER, "succeeded": 3, "active": 1}}
    complete = [{"type": kind, "status": "True"} for kind in ("SuccessCriteriaMet", "Complete")]
    over = {**there, "status": {"startTime": LATER, "succeeded": 4, "conditions": complete}}

    assert status_for(BATCH, here, there) == {"startTime": START, "failed": 2, "succeeded": 3, "active": 1}
    ended = {"startTime": START, "failed": 2, "succeeded": 4, "conditions": complete}
    assert status_for(BATCH, here, over) == ended
    assert not remote_job(BATCH, {**here, "status": ended}, over).news


def test_a_suspended_job_gets_the_start_time_of_the_finished_run() -> None:
    here = {**job(), "status": {"startTime": START}}
    over = {**job(suspend=False), "status": {"startTime": LATER, "conditions": [{"type": "Failed", "status": "True"}]}}

    assert status_for(BATCH, here, over) == over["status"]


@pytest.mark.parametrize("announced", ["FailureTarget", "SuccessCriteriaMet"])
def test_an_announced_end_is_not_copied_before_the_job_has_ended(announced: str) -> None:
    """An announced end cannot be withdrawn, and the worker may be disconnected before the end."""
    paused = {"type": "Suspended", "status": "False"}
    there = {**job(suspend=False), "status": {"conditions": [paused, {"type": announced, "status": "True"}]}}

    assert status_for(BATCH, job(suspend=False), there) == {"conditions": [paused]}


@pytest.mark.parametrize(
    ("announced", "end"),
    [("FailureTarget", ["SuccessCriteriaMet", "Complete"]), ("SuccessCriteriaMet", ["FailureTarget", "Failed"])],
)
def test_an_end_that_contradicts_an_announced_one_is_not_copied(announced: str, end: list[str]) -> None:
    """Kueue copies the announcement at once, and an API server does not allow to withdraw it."""
    before = {"conditions": [{"type": announced, "status": "True"}]}
    over = {**job(suspend=False), "status": {"conditions": [{"type": each, "status": "True"} for each in end]}}

    runs = {**job(suspend=False), "status": {"active": 1}}
    assert status_for(BATCH, {**job(suspend=False), "status": before}, runs) == {"active": 1, **before}
    assert status_for(BATCH, {**job(suspend=False), "status": before}, over) is None
    assert not remote_job(BATCH, {**job(suspend=False), "status": before}, over).news
    assert status_for(BATCH, {**job(suspend=False), "status": over["status"]}, over) == over["status"]


def test_a_run_that_ended_before_the_start_time_ends_at_the_start_time() -> None:
    here = {**job(suspend=False), "status": {"startTime": LATER, "active": 1}}
    complete = [{"type": "Complete", "status": "True"}]
    earlier = {"startTime": START, "completionTime": "2026-01-01T00:30:00Z", "conditions": complete}

    shown = status_for(BATCH, here, {**job(suspend=False), "status": earlier})
    assert shown == {"startTime": LATER, "completionTime": LATER, "conditions": complete}


def test_a_changed_status_is_copied_once() -> None:
    here, there = job(suspend=False), job(suspend=False)

    assert remote_job(BATCH, here, there) == RemoteJob(news=False, running=True, unfinished=True)
    there["status"] = {"active": 3}
    assert remote_job(BATCH, here, there).news
    assert not remote_job(BATCH, None, there).news


@pytest.mark.parametrize("name", ["TFJob", "PaddleJob", "PyTorchJob", "XGBoostJob", "JAXJob"])
def test_a_finished_job_does_not_run_with_any_pod_counts(name: str) -> None:
    """Their operators may keep counts of pods after the end. The deletion need not wait for pods."""
    kind = SHIPPED[GroupKind("kubeflow.org", name)]
    counts = {"replicaStatuses": {"Worker": {"active": 2, "succeeded": 1}}}
    ended = {"conditions": [{"type": "Succeeded", "status": "True"}]}
    runs: dict[str, Any] = {"metadata": {"name": "j"}, "spec": {}, "status": counts}

    assert remote_job(kind, None, runs).running
    assert not remote_job(kind, None, {**runs, "status": {**counts, **ended}}).running


def test_only_the_serve_config_of_a_ray_service_may_change_while_it_runs() -> None:
    ray, other = SHIPPED[GroupKind("ray.io", "RayService")], SHIPPED[GroupKind("ray.io", "RayJob")]
    here = {"metadata": {"name": "s"}, "spec": {"serveConfigV2": "new", "rayClusterConfig": {"suspend": False}}}
    there = {"metadata": {"name": "s"}, "spec": {"serveConfigV2": "old", "rayClusterConfig": {"suspend": True}}}

    assert job_change(ray, here, there) == {"serveConfigV2": "new"}
    assert remote_job(ray, here, there).outdated
    assert not remote_job(ray, here, {**there, "spec": here["spec"]}).outdated
    assert job_change(ray, {**here, "spec": {}}, there) == {"serveConfigV2": None}
    assert job_change(other, here, there) == {}
    assert job_change(BATCH, here, there) == {}


def test_a_job_without_a_worker_has_no_pods() -> None:
    here = {**job(), "status": {"active": 2, "ready": 1, "startTime": "t", "failed": 1}}
    after = {**here, "status": settled(BATCH, here, 0)}

    assert not BATCH.quiet(here)
    assert BATCH.quiet(after)
    assert after["status"]["failed"] == 1
    assert [each["type"] for each in after["status"]["conditions"]] == ["Suspended"]
