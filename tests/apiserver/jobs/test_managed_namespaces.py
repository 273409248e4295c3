"""End to end: jobs of managed kinds are suspended in the namespaces where they are managed, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
import yaml

from tests.apiserver import build
from tests.apiserver.harness import ApiError, ControlPlane
from tests.apiserver.jobs.job_kinds import JOB_SET, definition
from tests.apiserver.kueue_world import KUEUE, served
from tests.apiserver.webhook.guard import Guard
from tests.builders import batch_job, kueue, template
from tests.waiting import eventually

QUEUE = "kueue.x-k8s.io/queue-name"
CONFIGURATION = {
    "apiVersion": "config.quotree.dev/v1alpha1",
    "kind": "Configuration",
    "kueue": {
        "manageJobs": True,
        "managedJobsNamespaceSelector": {"matchLabels": {"batch": "yes"}},
        "manageJobsWithoutQueueName": True,
        "frameworks": ["batch/job"],
    },
}
_NAMES = count()


@pytest.fixture(scope="module")
def server(programs: build.Programs) -> Iterator[ControlPlane]:
    with ControlPlane() as made, Guard(made, yaml.safe_dump(CONFIGURATION)):
        made.kubectl("apply", "-f", "-", input=yaml.safe_dump(definition(JOB_SET)))
        for name, labels in (("theirs", {}), ("ours", {"batch": "yes"})):  # a webhook that knows ours knows theirs
            made.request("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
        yield made


def stored(server: ControlPlane, namespace: str, **labels: str) -> tuple[Any, bool]:
    """The queue and the switch that a job would be stored with."""
    job = batch_job(f"job-{next(_NAMES)}", {"suspend": False, "template": template("1")}, None, labels=labels)
    answer = server.request("POST", f"/apis/batch/v1/namespaces/{namespace}/jobs?dryRun=All", job)
    return answer["metadata"].get("labels", {}).get(QUEUE), answer["spec"]["suspend"]


def test_jobs_are_suspended_with_or_without_a_queue_only_in_managed_namespaces(server: ControlPlane) -> None:
    eventually(lambda: stored(server, "ours") == (None, True))
    assert stored(server, "theirs") == (None, False)
    assert stored(server, "ours", **{QUEUE: "a"}) == ("a", True)
    assert stored(server, "theirs", **{QUEUE: "a"}) == ("a", False)


def test_jobs_of_kinds_that_are_not_named_start_at_once(server: ControlPlane) -> None:
    def is_suspended(name: str, version: str, kind: str, spec: dict[str, Any]) -> bool:
        body = {"apiVersion": version, "kind": kind, "metadata": {"name": name, "labels": {QUEUE: "a"}}, "spec": spec}
        path = f"/apis/{version}/namespaces/ours/{kind.lower()}s?dryRun=All"
        return bool(server.request("POST", path, body)["spec"].get("suspend"))

    eventually(lambda: served(server, f"/apis/{JOB_SET.version}/namespaces/ours/jobsets"))
    eventually(lambda: is_suspended("job", "batch/v1", "Job", {"template": template("1")}))
    assert not is_suspended("set", JOB_SET.version, JOB_SET.kind, JOB_SET.spec)


def test_the_default_queue_applies_only_in_managed_namespaces(server: ControlPlane) -> None:
    for namespace in ("theirs", "ours"):  # a webhook that knows ours knows theirs
        local = kueue("LocalQueue", "default", {"clusterQueue": "team"}, namespace=namespace)
        server.request("POST", f"{KUEUE}/namespaces/{namespace}/localqueues", local)

    eventually(lambda: stored(server, "ours") == ("default", True))
    assert stored(server, "theirs") == (None, False)


def test_a_namespace_becomes_managed_when_it_gets_the_label(server: ControlPlane) -> None:
    body = {"metadata": {"labels": {"batch": "yes"}}}
    server.request("PATCH", "/api/v1/namespaces/theirs", body, content_type="application/merge-patch+json")

    def is_managed() -> bool:
        try:
            return stored(server, "theirs", **{QUEUE: "a"}) == ("a", True)
        except ApiError as error:
            if "quota-evaded" in str(error):  # the label came between the mutating and the validating webhook
                return False
            raise

    eventually(is_managed)
