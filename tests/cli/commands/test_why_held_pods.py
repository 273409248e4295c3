"""`quotree why` for admitted work in a cluster: what keeps its Pods from running."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.builders import batch_job, pod
from tests.cli.runs import kubeconfig, run
from tests.cluster.fake import Reply, Seen
from tests.reconciler.api.lists import Lists
from tests.reconciler.api.organisation import admitted, organisation
from tests.schemas import checked

JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u", "controller": True}
QUOTA = 'Error creating: pods "train-x" is forbidden: exceeded quota: team'
ADMITTED = "Job a/train is admitted in a: main x1 cpu=1 of spot\n"


class Namespace(Lists):
    """Also lists the Events and Pods of a namespace, and answers for single objects by their paths."""

    events: list[dict[str, Any]]
    single: dict[str, dict[str, Any]]

    def reply_to(self, observed: Seen) -> Reply:
        path = observed.path
        if path in self.single:
            return lambda handler: handler.send_json(200, self.single[path])
        if path.endswith("/namespaces/a/events") and "events" not in self.forbidden:
            return lambda handler: handler.send_json(200, {"metadata": {"resourceVersion": "1"}, "items": self.events})
        return super().reply_to(observed)


def event(kind: str, name: str, message: str, at: str = "2026-01-02T00:00:00Z", **fields: Any) -> dict[str, Any]:
    about = {"kind": kind, "namespace": "a", "name": name}
    said = {"reason": "FailedCreate", "message": message, "lastTimestamp": at}
    return {"metadata": {}, "involvedObject": about, **said, **fields}


def of_job(name: str, status: dict[str, Any], **meta: Any) -> dict[str, Any]:
    made = pod(name, namespace="a")
    made["metadata"] |= {"creationTimestamp": "2026-01-01T00:00:00Z", "ownerReferences": [JOB], **meta}
    return made | {"status": status}


def waiting(reason: str, message: str) -> dict[str, Any]:
    return {"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": reason, "message": message}}}]}


@pytest.fixture
def api() -> Iterator[Namespace]:
    server = Namespace(*organisation(admitted("train", 1, "a/main", "a", metadata={"ownerReferences": [JOB]})))
    server.events, server.single = [], {}
    yield server
    server.close()


@pytest.fixture
def why(api: Namespace, tmp_path: Path) -> Callable[..., Result]:
    return lambda *arguments: run("why", "a/train", *arguments, "--kubeconfig", kubeconfig(tmp_path, api.url))


def held(result: Result) -> list[str]:
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(ADMITTED)
    return [line.removeprefix("    ") for line in result.stdout.removeprefix(ADMITTED).splitlines()]


def test_refused_pods_are_reported_from_the_last_warning_about_the_job(
    api: Namespace, why: Callable[..., Result]
) -> None:
    api.events = [
        event("Job", "train", QUOTA),
        event("Job", "train", "an older one", "2026-01-01T23:00:00Z"),
        event("Job", "other", "of another job"),
        event("Pod", "other-x", "of a Pod of another job"),
    ]

    assert held(why()) == [f"Job train: FailedCreate: {QUOTA}"]
    found = json.loads(why("-o", "json").stdout)
    checked(found)
    assert found["heldPods"] == [{"kind": "Job", "names": ["train"], "reason": "FailedCreate", "message": QUOTA}]


def test_warning_is_over_once_a_pod_was_created(api: Namespace, why: Callable[..., Result]) -> None:
    api.events = [event("Job", "train", QUOTA)]
    api.objects = (*api.objects, of_job("train-y", {"phase": "Running"}, creationTimestamp="2026-01-03T00:00:00Z"))

    assert held(why()) == []


def test_warning_about_a_job_of_the_job_counts(api: Namespace, why: Callable[..., Result]) -> None:
    api.events = [event("Job", "train-workers-0", QUOTA), event("Job", "of-another-0", QUOTA)]
    for name, owner in (("train-workers-0", JOB), ("of-another-0", {**JOB, "name": "another"})):
        child = batch_job(name, namespace="a", ownerReferences=[owner])
        api.single[f"/apis/batch/v1/namespaces/a/jobs/{name}"] = child

    assert held(why()) == [f"Job train-workers-0: FailedCreate: {QUOTA}"]


def test_job_that_is_suspended_still_is_reported(api: Namespace, why: Callable[..., Result]) -> None:
    api.single["/apis/batch/v1/namespaces/a/jobs/train"] = batch_job("train", namespace="a")

    cure = "check with `quotree doctor` that the reconciler runs"
    assert held(why()) == [f"Job train: Suspended: it is still suspended; {cure}"]


def test_pods_that_do_not_run_are_reported_once_for_each_cause(api: Namespace, why: Callable[..., Result]) -> None:
    unscheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
    pulled = waiting("ImagePullBackOff", 'Back-off pulling image "nope"')
    api.events = [event("Pod", "train-5", "MountVolume.SetUp failed", reason="FailedMount")]
    api.objects = (
        *api.objects,
        *(of_job(f"train-{number}", pulled) for number in range(4)),
        of_job("train-4", {"phase": "Pending", "conditions": [unscheduled]}),
        of_job("train-5", waiting("ContainerCreating", "")),
        of_job("train-6", {"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]}),
        of_job("train-7", pulled, deletionTimestamp="2026-01-02T00:00:00Z"),
        of_job("other-0", pulled, ownerReferences=[{**JOB, "name": "other"}]),
    )

    assert held(why()) == [
        'Pod train-0, train-1, train-2 and 1 more: ImagePullBackOff: Back-off pulling image "nope"',
        "Pod train-4: Unschedulable: 0/3 nodes",
        "Pod train-5: FailedMount: MountVolume.SetUp failed",
    ]


def test_events_that_the_caller_may_not_read_are_left_out(api: Namespace, why: Callable[..., Result]) -> None:
    api.events = [event("Job", "train", QUOTA)]
    api.forbidden = {"events"}

    assert held(why()) == []
