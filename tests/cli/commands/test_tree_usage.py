"""The usage that `quotree tree` shows after it simulates the work of the files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builders import FLAVOR, cluster_queue, cohort, flavor, group, queued_job
from tests.cli.clusters import holding
from tests.cli.organisations import local, org_queue
from tests.cli.runs import kubeconfig, run, write
from tests.cluster.fake import FakeApi
from tests.scheduling.volcano import manifests as volcano
from tests.scheduling.yunikorn import manifests as yunikorn
from tests.schemas import checked


def nodes(*arguments: object) -> dict[str, Any]:
    """By kind and name."""
    found = checked(json.loads(run("tree", *arguments, "-o", "json").stdout))
    return {f"{each['kind']} {each['name']}": each for each in found["nodes"]}


@pytest.fixture
def api() -> Iterator[FakeApi]:
    server = FakeApi()
    yield server
    server.close()


@pytest.fixture
def eng(tmp_path: Path) -> Path:
    """Volcano's queue `vision` has room for `early`, and none for `late`."""
    queues = (
        volcano.queue("eng", deserved={"cpu": "4"}, capability={"cpu": "6"}),
        volcano.queue("vision", "eng", guarantee={"cpu": "1"}, capability={"cpu": "2"}),
        volcano.queue("speech", "eng"),
    )
    jobs = (
        volcano.job("early", "vision", volcano.task("w", 2), minAvailable=2),
        volcano.job("late", "vision", volcano.task("w", 1), minAvailable=1),
        volcano.job("asr", "speech", volcano.task("w", 1), minAvailable=1),
    )
    return write(tmp_path / "a.yaml", *queues, *jobs)


def test_volcano_queues_show_allocated_amounts_limits_and_podgroup_counts(eng: Path) -> None:
    shown = run("tree", eng)

    assert shown.exit_code == 0, shown.stderr
    assert shown.stdout == (
        "Volcano\n"
        "Queue root (no object here; Pending: 1, Running: 2)\n"
        "│  cpu: allocated 3; children: deserved 4\n"
        "└─ Queue eng (Pending: 1, Running: 2)\n"
        "   │  cpu: deserved 4, capability 6, limit 6, allocated 3; children: guarantee 1\n"
        "   ├─ Queue speech (Running: 1)\n"
        "   │     cpu: limit 5, allocated 1\n"
        "   └─ Queue vision (Pending: 1, Running: 1)\n"
        "         cpu: guarantee 1, capability 2, limit 2, allocated 2\n"
    )


def test_json_has_podgroups_and_allocated_amounts(eng: Path) -> None:
    found = nodes(eng)

    assert found["Queue vision"]["podGroups"] == {"Pending": 1, "Running": 1}
    assert found["Queue eng"]["podGroups"] == {"Pending": 1, "Running": 2}
    assert found["Queue vision"]["quota"][0]["own"] == {
        "guarantee": "1",
        "capability": "2",
        "limit": "2",
        "allocated": "2",
    }


def test_the_quota_that_an_orchestrator_wrote_is_shown_where_the_gate_is_on(tmp_path: Path, api: FakeApi) -> None:
    made = cluster_queue("team", "org", group("cpu", flavor("spot", cpu="9")))
    made["status"] = {"effectiveQuotas": {"resourceGroups": [group("cpu", flavor("spot", cpu="4"))]}}
    holding(api, clusterqueues=[made], cohorts=[cohort("org")])
    own = {"apiVersion": "config.quotree.dev/v1alpha1", "kind": "Configuration", "kueueVersion": "0.20"}
    on = write(tmp_path / "on.yaml", {**own, "kueue": {"featureGates": {"DynamicQuotaOrchestration": True}}})
    login = ("--kubeconfig", kubeconfig(tmp_path, api.url))
    shown = {str(file): run("tree", *login, env={"QUOTREE_CONFIG": file}).stdout for file in (str(on), None)}

    assert "cpu: nominalQuota 4" in shown[str(on)]
    assert "cpu: nominalQuota 9" in shown["None"]


def test_without_work_only_the_quota_is_shown(tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", volcano.queue("eng", deserved={"cpu": "4"}), yunikorn.namespace("dev"))

    assert "allocated" not in run("tree", file).stdout
    assert "podGroups" not in nodes(file)["Queue eng"]


TREE = yunikorn.queues_yaml(
    "- {name: team, parent: true, resources: {max: {vcore: 3}}}",
    "[{name: tag, value: namespace, create: true, parent: {name: tag, value: namespace.parentqueue}},"
    " {name: tag, value: namespace, create: true}]",
)


@pytest.fixture
def dev(tmp_path: Path) -> Path:
    """Two applications of `dev` fit into its quota; a third waits. The quota of `odd` cannot be read."""
    space = yunikorn.namespace("dev", parentqueue="root.team", namespace_quota='{"cpu":"2","memory":"1Gi"}')
    odd = yunikorn.namespace("odd", namespace_quota='{"cpu":4}')
    pods = [yunikorn.pod(f"p{n}", f"app-{n}", space="dev") for n in range(3)]
    return write(tmp_path / "a.yaml", TREE, space, odd, *pods, yunikorn.pod("p", "lost", space="odd"))


def test_yunikorn_queues_and_namespaces_show_usage_and_application_counts(dev: Path) -> None:
    shown = run("tree", dev)

    assert shown.exit_code == 0, shown.stderr
    assert shown.stdout == (
        "YuniKorn\n"
        "root (applications: 2, waiting: 1)\n"
        "│  pods: used 2, pending 1\n"
        "│  vcore: used 2, pending 1\n"
        "└─ root.team (applications: 2, waiting: 1)\n"
        "   │  pods: used 2, pending 1\n"
        "   │  vcore: max 3, used 2, pending 1\n"
        "   └─ root.team.dev (dynamic, applications: 2, waiting: 1)\n"
        "         memory: max 1Gi\n"
        "         pods: used 2, pending 1\n"
        "         vcore: max 2, used 2, pending 1\n"
        "Namespace dev (below root.team, applications: 2, waiting: 1)\n"
        "   cpu: max 2, used 2\n"
        "   memory: max 1Gi, used 0\n"
    )


def test_applications_and_usage_are_in_json(dev: Path) -> None:
    found = nodes(dev)

    assert found["Queue root.team.dev"]["applications"] == {"running": 2, "waiting": 1}
    assert found["Queue root.team.dev"]["parent"] == "root.team"
    assert found["Queue root.team"]["children"] == ["root.team.dev"]
    assert {row["resource"]: row["own"] for row in found["Queue root.team"]["quota"]}["vcore"] == {
        "max": "3",
        "used": "2",
        "pending": "1",
    }
    assert found["Namespace dev"]["applications"] == {"running": 2, "waiting": 1}
    assert found["Namespace dev"]["quota"][0]["own"] == {"max": "2", "used": "2"}


def test_queues_of_yunikorn_are_drawn_without_pods_too(tmp_path: Path) -> None:
    assert run("tree", write(tmp_path / "a.yaml", TREE)).stdout == "YuniKorn\nroot\n└─ root.team\n      vcore: max 3\n"


def test_kueue_usage_is_simulated_from_files(tmp_path: Path) -> None:
    file = write(tmp_path / "k.yaml", FLAVOR, org_queue("small", 4), local("small"), queued_job("first", "small", 3))

    assert "used 3" in run("tree", file).stdout
    assert nodes(file)["ClusterQueue small"]["workloads"] == {"pending": 0, "reserving": 1, "admitted": 1}


def test_queues_that_admit_nothing_have_the_reason(tmp_path: Path) -> None:
    held, broken = org_queue("held", 4, "org", stopPolicy="Hold"), org_queue("broken", 4, "org")
    broken["spec"]["resourceGroups"][0]["flavors"][0]["name"] = "sopt"
    file = write(tmp_path / "k.yaml", FLAVOR, held, broken, local("held"), queued_job("first", "held", 3))
    reason = "Can't admit new workloads: references missing ResourceFlavor(s): sopt."

    shown = run("tree", file).stdout
    assert f"ClusterQueue broken ({reason})\n" in shown
    assert "ClusterQueue held (stopPolicy Hold; 1 pending)\n" in shown
    assert nodes(file)["ClusterQueue broken"]["inactive"] == reason


def test_work_of_the_files_is_simulated_on_top_of_the_context(eng: Path, tmp_path: Path) -> None:
    more = write(tmp_path / "more" / "b.yaml", volcano.job("new", "speech", volcano.task("w", 2), minAvailable=2))

    assert "Queue speech (Running: 2)" in run("tree", more, "--against", f"files:{eng}").stdout
    assert run("tree", "--against", f"files:{eng}").stdout == run("tree", eng).stdout


def test_object_that_cannot_be_simulated_is_reported_and_exits_1(tmp_path: Path) -> None:
    refused = yunikorn.queues_yaml("- {name: a, resources: {max: {vcore: 0.5}}}")

    shown = run("tree", write(tmp_path / "a.yaml", refused, yunikorn.pod("p", "app")))

    assert shown.exit_code == 1
    assert "queues.yaml cannot be used: " in shown.stderr
