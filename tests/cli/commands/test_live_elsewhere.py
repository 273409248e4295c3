"""`quotree why`, `pending` and `tree` for the work of Volcano and YuniKorn in a live cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.clusters import holding
from tests.cli.runs import kubeconfig, run, write
from tests.cluster.fake import FakeApi
from tests.scheduling.volcano.manifests import job, node, pod, pod_group, queue, task
from tests.scheduling.yunikorn import manifests as yunikorn

TRAIN = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "name": "train",
    "uid": "u",
    "controller": True,
}
CLUSTER: dict[str, list[dict[str, Any]]] = {
    "queues": [queue("root"), queue("org", "root", capability={"cpu": "4"}), queue("a", "org"), queue("b", "org")],
    "podgroups": [
        {**pod_group("runs", "a", 3), "status": {"phase": "Running"}},
        {**pod_group("train-u", "b", 2), "status": {"phase": "Inqueue"}},
        {**pod_group("small", "a", 1), "status": {"phase": "Inqueue"}},
    ],
    "nodes": [node("n1", "100")],
    "pods": [
        *({**pod(f"r{number}", "runs"), "status": {"phase": "Running"}} for number in range(3)),
        *(pod(f"t{number}", "train-u") for number in range(2)),
        pod("s", "small"),
        {**yunikorn.pod("y", "app", "2", node="n1"), "status": {"phase": "Running"}},
        yunikorn.pod("z", "other", "2"),
    ],
    "namespaces": [yunikorn.namespace("dev", namespace_quota='{"cpu":"3"}'), yunikorn.namespace("ml")],
}
for each in CLUSTER["pods"][:3]:
    each["spec"]["nodeName"] = "n1"
CLUSTER["podgroups"][1]["metadata"]["ownerReferences"] = [TRAIN]


@pytest.fixture
def api() -> Iterator[FakeApi]:
    server = FakeApi()
    yield server
    server.close()


@pytest.fixture
def login(api: FakeApi, tmp_path: Path) -> tuple[str, Path]:
    holding(api, **CLUSTER)
    return "--kubeconfig", kubeconfig(tmp_path, api.url)


def test_why_names_the_full_queue_and_the_podgroups_that_use_it(login: tuple[str, Path]) -> None:
    shown = run("why", "ml/train", *login)

    assert shown.exit_code == 0
    assert shown.stdout == (
        "Job ml/train in b (Inqueue): 2 of 2 Pods wait\n"
        "    queue org would exceed its limit: cpu 4 used + 1 requested > 4, 1 short (2 Pods)\n"
        "      cpu of org is used by PodGroup ml/runs 3\n"
        "      the limit is the capability of queue org\n"
        "    it may not reclaim: queue b would exceed its deserved amount: cpu 0 used + 1 requested > 0, 1 short"
        " (2 Pods)\n"
    )


def test_why_reports_a_podgroup_with_room_as_waiting_for_the_scheduler(login: tuple[str, Path]) -> None:
    shown = run("why", "ml/small", *login)

    assert shown.stdout == (
        "PodGroup ml/small in a (Inqueue): waits\n    there is room for it, and the scheduler has not placed it yet\n"
    )


def test_pending_lists_both_projects(login: tuple[str, Path]) -> None:
    shown = run("pending", *login)

    assert "Job ml/train in b (Inqueue): 2 of 2 Pods wait" in shown.stdout
    assert "Pod dev/z of other in root.dev: NotEnoughQueueQuota" in shown.stdout
    assert "PodGroup ml/runs" not in shown.stdout.split("is used by")[0]
    found = json.loads(run("pending", "root.dev", *login, "-o", "json").stdout)
    assert [each["pod"] for each in found["yunikorn"]] == ["dev/z"]
    assert "volcano" not in found


def test_why_explains_an_application_of_yunikorn(login: tuple[str, Path]) -> None:
    assert "root.dev: vcore=2 requested, 2 of 3 in use, 1 short" in run("why", "dev/z", *login).stdout
    assert run("why", "app", *login).stdout.startswith("Pod dev/y of app runs in root.dev")


def test_queues_that_yunikorn_cannot_load_are_reported(api: FakeApi, tmp_path: Path) -> None:
    broken = yunikorn.queues_yaml("- {name: a}", "[{name: nobody}, {name: tag, value: namespace, create: true}]")
    holding(api, configmaps=[broken], **CLUSTER)

    shown = run("why", "dev/z", "--kubeconfig", kubeconfig(tmp_path, api.url))

    assert "UnreadableQueues: queues.yaml cannot be used: the placement rule 'nobody' does not exist" in shown.stdout
    assert "YuniKorn keeps the queues that it has loaded before, which are not known here" in shown.stderr


def test_tree_shows_usage(login: tuple[str, Path]) -> None:
    shown = run("tree", "--against", "cluster", *login).stdout

    assert "cpu: capability 4, limit 4, allocated 3" in shown
    assert "Namespace dev (applications: 1, waiting: 1)\n   cpu: max 3, used 2\n" in shown


def test_work_without_read_permission_is_left_out_and_reported(api: FakeApi, tmp_path: Path) -> None:
    holding(api, forbidden=["pods"], **CLUSTER)

    shown = run("pending", "--kubeconfig", kubeconfig(tmp_path, api.url))

    assert shown.exit_code == 0
    for project in ("Volcano", "YuniKorn"):
        assert f"the work of {project} is left out: " in shown.stderr
    assert "Forbidden" in shown.stderr


def differences(login: tuple[str, Path], *arguments: Any) -> dict[str, tuple[int, int]]:
    result = run("diff", *arguments, "-o", "json")
    assert result.exit_code == 0, result.output
    return {each["name"]: (each["podsBefore"], each["podsAfter"]) for each in json.loads(result.stdout)["elsewhere"]}


@pytest.mark.parametrize("source", ["cluster", "snapshot"])
def test_diff_starts_from_the_running_pods(api: FakeApi, login: tuple[str, Path], tmp_path: Path, source: str) -> None:
    def shown(name: str, *changed: dict[str, Any]) -> dict[str, tuple[int, int]]:
        holding(api, **CLUSTER)
        file = write(tmp_path / f"{name}.yaml", *changed)
        return differences(login, file, "--against", *against)

    snapshot = tmp_path / "taken.json"
    assert run("snapshot", "--file", snapshot, *login).exit_code == 0
    against = ("cluster", *login) if source == "cluster" else (f"snapshot:{snapshot}",)

    assert shown("larger", queue("org", "root", capability={"cpu": "7"})) == {"Job ml/train": (0, 2)}
    assert shown("new", queue("free", "root"), job("late", "free", task("w", 4))) == {"Job ml/late": (0, 4)}
    assert shown("again", job("train", "b", task("w", 2))) == {}, "its Pods are there already, and wait"
    assert shown("app", yunikorn.pod("new", "third", "2", space="ml")) == {"application third": (0, 1)}
    assert shown("over", yunikorn.pod("more", "fourth", "2")) == {}, "the namespace has 1 of 3 left"


def test_a_snapshot_without_requests_of_pods_has_no_work_to_start_from(
    api: FakeApi, login: tuple[str, Path], tmp_path: Path
) -> None:
    """As an earlier version wrote it."""
    taken = tmp_path / "taken.json"
    assert run("snapshot", "--file", taken, "--hash-names", *login).exit_code == 0
    assert "train" not in taken.read_text()
    assert '"n1"' in taken.read_text()
    found = json.loads(taken.read_text())
    for each in found["objects"]:
        if each["kind"] == "Pod":
            del each["status"]
            each["spec"] = {"schedulerName": each["spec"]["schedulerName"]}
    taken.write_text(json.dumps(found))
    file = write(tmp_path / "larger.yaml", queue("org", "root", capability={"cpu": "7"}))
    assert differences((), file, "--against", f"snapshot:{taken}") == {}
