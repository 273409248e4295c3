"""`quotree why` for a job without a Workload: why it is not queued, and the next step."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from cli.commands import why as command
from tests.builders import batch_job, kueue, local_queue, manifest, queued, template
from tests.cli.runs import kubeconfig, run
from tests.cluster.fake import Reply, Seen
from tests.reconciler.api.lists import Lists
from tests.reconciler.api.organisation import organisation
from tests.schemas import checked

RUNS = {"suspend": False, "template": template()}
LABEL = "kueue.x-k8s.io/queue-name"


class Jobs(Lists):
    """Also answers for single jobs, by their paths, and for the LocalQueues of one namespace."""

    jobs: dict[str, dict[str, Any]]

    def reply_to(self, observed: Seen) -> Reply:
        job = self.jobs.get(observed.path)
        if job is not None:
            return lambda handler: handler.send_json(200, job)
        within = observed.path.partition("/namespaces/")[2].partition("/")[0]
        if observed.path.endswith("/localqueues") and within and not self.forbidden:
            queues = [each for each in self.objects if each["kind"] == "LocalQueue"]
            items = [each for each in queues if each["metadata"]["namespace"] == within]
            return lambda handler: handler.send_json(200, {"metadata": {"resourceVersion": "1"}, "items": items})
        return super().reply_to(observed)

    def put(self, job: dict[str, Any]) -> None:
        meta = job["metadata"]
        where = f"{job['apiVersion']}/namespaces/{meta['namespace']}/{job['kind'].lower()}s/{meta['name']}"
        self.jobs[f"/apis/{where}"] = job


@pytest.fixture
def api() -> Iterator[Jobs]:
    server = Jobs(*organisation())
    server.jobs = {}
    yield server
    server.close()


@pytest.fixture
def why(api: Jobs, tmp_path: Path) -> Callable[..., Result]:
    return lambda *arguments: run("why", *arguments, "--kubeconfig", kubeconfig(tmp_path, api.url))


def reason(result: Result) -> str:
    assert (result.exit_code, result.stderr) == (0, "")
    said: str = result.stdout.rstrip("\n")
    return said.removeprefix("Job a/train is in no queue: ")


def test_job_without_a_queue_label_gets_the_kubectl_command_to_add_it(api: Jobs, why: Callable[..., Result]) -> None:
    api.put(batch_job("train", namespace="a"))

    assert reason(why("a/train")) == (f"it has no label {LABEL}; add it: `kubectl -n a label jobs train {LABEL}=main`")
    found = json.loads(why("job/train", "-n", "a", "-o", "json").stdout)
    assert (found["state"], found["job"]["name"]) == ("inNoQueue", "train")


def test_running_job_without_quota_has_to_be_recreated(api: Jobs, why: Callable[..., Result]) -> None:
    api.put(batch_job("train", RUNS, namespace="a"))

    assert reason(why("a/train")) == (
        f"it has no label {LABEL}; it runs without quota; delete it, and create it again with the label {LABEL}: main"
    )


def test_local_queues_of_the_namespace_are_listed_or_reported_as_missing(api: Jobs, why: Callable[..., Result]) -> None:
    api.put(batch_job("train", namespace="a"))
    api.objects = (*api.objects, local_queue("other", "a", namespace="a"))

    assert reason(why("a/train")).endswith(f"{LABEL}=QUEUE`, where namespace a has LocalQueues main, other")
    api.objects = ()
    assert reason(why("a/train")).endswith("; namespace a has no LocalQueue, so ask an administrator for one")
    api.forbidden = {"localqueues"}
    assert reason(why("a/train")).endswith(f"{LABEL}=QUEUE`"), "what may not be read is not an empty list"


def test_job_with_a_queue_name_but_without_a_workload_is_explained(api: Jobs, why: Callable[..., Result]) -> None:
    api.put(batch_job("train", namespace="a", labels=queued("mian")))
    assert reason(why("a/train")) == "it names LocalQueue a/mian, which does not exist; did you mean main?"

    api.put(batch_job("train", namespace="a", labels=queued("main")))
    assert reason(why("a/train")).startswith("it names LocalQueue a/main, but it has no Workload; check that the")


def test_missing_priority_class_of_a_job_is_reported(api: Jobs, why: Callable[..., Result]) -> None:
    api.objects = (*api.objects, {**kueue("WorkloadPriorityClass", "urgent"), "value": 100})
    api.put(batch_job("train", namespace="a", labels=queued("main", priority_class="urgnt")))
    assert reason(why("a/train")) == "WorkloadPriorityClass urgnt does not exist; did you mean urgent?"

    api.forbidden = {"workloadpriorityclasses"}
    assert reason(why("a/train")) == (
        "it has no Workload; ask an administrator whether WorkloadPriorityClass urgnt exists"
    )

    api.forbidden = set()
    api.put(batch_job("train", namespace="a", labels=queued("main", priority_class="urgent")))
    assert "but it has no Workload; check that the reconciler runs" in reason(why("a/train"))


def test_owner_of_an_owned_job_is_named(api: Jobs, why: Callable[..., Result]) -> None:
    owner = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "set", "uid": "u", "controller": True}
    api.put(batch_job("train", RUNS, namespace="a", ownerReferences=[owner]))

    assert reason(why("a/train")) == (
        "it belongs to JobSet set, which is queued in its place; ask `quotree why jobset/set -n a`"
    )


def test_finished_job_is_reported_and_an_unknown_job_is_rejected(api: Jobs, why: Callable[..., Result]) -> None:
    done = {"conditions": [{"type": "Complete", "status": "True"}]}
    api.put(manifest("batch/v1", "Job", "train", RUNS, status=done, namespace="a"))

    assert why("a/train").stdout == "Job a/train is finished\n"
    ghost = why("a/ghost")
    assert (ghost.exit_code, ghost.stdout) == (2, "")
    assert "there is no Workload a/ghost, and none of a job with this name; namespace a has no job of" in ghost.stderr


def test_finished_job_does_not_hide_another_kind_of_the_same_name(api: Jobs, why: Callable[..., Result]) -> None:
    done = {"conditions": [{"type": "Complete", "status": "True"}]}
    api.put(manifest("batch/v1", "Job", "train", RUNS, status=done, namespace="a"))
    api.put(manifest("kubeflow.org/v1", "PyTorchJob", "train", {"runPolicy": {"suspend": True}}, namespace="a"))

    assert why("a/train").stdout.startswith(f"PyTorchJob a/train is in no queue: it has no label {LABEL}; add it:")
    assert why("job/train", "-n", "a").stdout == "Job a/train is finished\n"


def test_gated_pod_shows_the_reason_of_its_scheduling_gate(api: Jobs, why: Callable[..., Result]) -> None:
    pod = manifest("v1", "Pod", "p", {"schedulingGates": [{"name": "quotree.dev/quota"}]}, namespace="ml")
    pod["metadata"]["annotations"] = {"quotree.dev/quota-waits": "WaitsForReclaim in rich: 1 Pod is being reclaimed"}
    api.jobs["/api/v1/namespaces/ml/pods/p"] = pod

    said = "Pod ml/p waits at its scheduling gate: WaitsForReclaim in rich: 1 Pod is being reclaimed"
    assert reason(why("ml/p")) == reason(why("pod/p", "-n", "ml")) == said
    found = checked(json.loads(why("ml/p", "-o", "json").stdout))
    assert (found["state"], found["job"]["name"]) == ("atGate", "p")

    del pod["metadata"]["annotations"]
    assert reason(why("ml/p")).endswith("the reconciler has not looked at it yet")


def test_pod_without_a_workload_says_what_queues_pods(api: Jobs, why: Callable[..., Result]) -> None:
    pod = manifest("v1", "Pod", "p", {}, namespace="ml")
    api.jobs["/api/v1/namespaces/ml/pods/p"] = pod
    assert why("ml/p").stdout == f"Pod ml/p is in no queue: it has no label {LABEL}\n"

    pod["metadata"]["labels"] = queued("main")
    head = "Pod ml/p is in no queue: "
    assert reason(why("pod/p", "-n", "ml")) == (
        f"{head}it names LocalQueue ml/main, but it has no Workload: a Pod is queued only with kueue.managePods and "
        "the framework pod, from before it was created (docs/pods.md)"
    )
    assert checked(json.loads(why("ml/p", "-o", "json").stdout))["state"] == "inNoQueue"

    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u", "controller": True}
    pod["metadata"]["ownerReferences"] = [owner]
    ask = "quotree why job/train -n ml"
    assert reason(why("ml/p")) == f"{head}it belongs to Job train, which is queued in its place; ask `{ask}`"


def test_kind_prefix_is_not_interpreted_as_a_namespace(
    api: Jobs, why: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Pod `train` waits in a namespace `job`."""
    asked: list[str] = []
    monkeypatch.setattr(command, "elsewhere", lambda _, name: asked.append(name))
    api.put(batch_job("train", RUNS, "a"))

    for written in ("job/train", "train", "a/train"):
        why(written, "-n", "a")
    assert asked == ["a/train", "train", "a/train", "a/train", "a/train"]
