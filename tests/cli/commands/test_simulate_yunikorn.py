"""`quotree simulate`, `why` and `pending` over files of YuniKorn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders import FLAVOR, queued_job
from tests.cli.organisations import local, org_queue
from tests.cli.runs import run, write
from tests.scheduling.yunikorn.manifests import namespace, node, pod, queues_yaml

TREE = queues_yaml("- {name: production, parent: true, resources: {max: {vcore: 6}, guaranteed: {vcore: 4}}}",
    "[{name: tag, value: namespace, create: true, parent: {name: tag, value: namespace.parentqueue}},"
    " {name: tag, value: namespace, create: true}]",
)  # fmt: skip


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """`fin` below production, `old` with the legacy pair, and `dev`, whose quota is not JSON of texts."""
    spaces = (
        namespace("fin", parentqueue="root.production", namespace_quota='{"cpu":"2"}'),
        namespace("old", namespace_max_cpu="1"),
        namespace("dev", namespace_quota='{"cpu":4}'),
    )
    pods = [pod(f"p{n}", f"{space}-app", str(n), space) for n in (1, 2) for space in ("fin", "old", "dev")]
    return write(tmp_path / "a.yaml", TREE, node(), *spaces, *pods)


def test_the_outcome_names_queue_resource_and_how_much_is_short(files: Path) -> None:
    shown = run("simulate", files, "--at", "+1h", "--finish", "fin/p1")

    assert shown.exit_code == 0
    assert shown.stdout == (
        "simulated in YuniKorn: 4 queues, 2 applications, 5 Pods\n"
        "\n"
        "what happened in YuniKorn:\n"
        "  +0s    runs       Pod old/p1 of old-app in root.old\n"
        "  +0s    runs       Pod fin/p1 of fin-app in root.production.fin\n"
        "  +0s    --at +1h\n"
        "  +1h    --finish fin/p1\n"
        "  +1h    ended      Pod fin/p1\n"
        "  +1h    runs       Pod fin/p2 of fin-app in root.production.fin\n"
        "\n"
        "what waits in YuniKorn:\n"
        "  Pod old/p2 of old-app in root.old: NotEnoughQueueQuota\n"
        "      root.old: vcore=2 requested, 1 of 1 in use, 2 short\n"
        "  Pod dev/p1 of dev-app: UnreadableQuota: yunikorn.apache.org/namespace.quota of Namespace dev cannot be "
        'read: "cpu": 4 is a number, not a string\n'
        "  Pod dev/p2 of dev-app: UnreadableQuota: yunikorn.apache.org/namespace.quota of Namespace dev cannot be "
        'read: "cpu": 4 is a number, not a string\n'
        "\n"
        "what is in use in YuniKorn:\n"
        "root (applications: 2)\n"
        "│  memory: max 64Gi\n"
        "│  pods: max 110, used 2, pending 1\n"
        "│  vcore: max 8, used 3, pending 2\n"
        "├─ root.old (dynamic, applications: 1)\n"
        "│     pods: used 1, pending 1\n"
        "│     vcore: max 1, used 1, pending 2\n"
        "└─ root.production (applications: 1)\n"
        "   │  pods: used 1\n"
        "   │  vcore: max 6, guaranteed 4, used 2\n"
        "   └─ root.production.fin (dynamic, applications: 1)\n"
        "         pods: used 1\n"
        "         vcore: max 2, used 2\n"
    )


def test_json_has_running_and_waiting_pods_and_usage(files: Path) -> None:
    found = json.loads(run("simulate", files, "-o", "json").stdout)["yunikorn"]

    assert [each["pod"] for each in found["running"]] == ["fin/p1", "old/p1"]
    assert [each["reason"] for each in found["waiting"]] == ["NotEnoughQueueQuota"] * 2 + ["UnreadableQuota"] * 2
    assert found["waiting"][0]["lacks"] == [
        {"queue": "root.old", "resource": "vcore", "whose": "", "asked": "2", "used": "1", "limit": "1", "short": "2"}
    ]
    assert {each["path"]: each["used"] for each in found["queues"]}["root.production"] == {"pods": "1", "vcore": "1"}
    assert found["settled"]


def test_kueue_work_is_simulated_together_with_yunikorn(files: Path) -> None:
    write(files.parent / "k.yaml", FLAVOR, org_queue("small", 4), local("small"), queued_job("first", "small", 4))

    shown = run("simulate", files.parent).stdout

    assert "admitted   Job ns/first in small" in shown
    assert "runs       Pod old/p1 of old-app" in shown


def test_output_without_yunikorn_pods_does_not_mention_yunikorn(tmp_path: Path) -> None:
    file = write(tmp_path / "k.yaml", FLAVOR, org_queue("small", 4), local("small"), queued_job("first", "small", 4))

    assert "YuniKorn" not in run("simulate", file).stdout
    assert "yunikorn" not in json.loads(run("simulate", file, "-o", "json").stdout)


def test_why_explains_a_pod_and_an_application(files: Path) -> None:
    against = ("--against", f"files:{files.parent}")

    assert run("why", "old/p2", *against).stdout == (
        "Pod old/p2 of old-app in root.old: NotEnoughQueueQuota\n"
        "    root.old: vcore=2 requested, 1 of 1 in use, 2 short\n"
    )
    assert run("why", "fin-app", *against).stdout == (
        "Pod fin/p1 of fin-app runs in root.production.fin: pods=1 vcore=1\n"
        "Pod fin/p2 of fin-app in root.production.fin: NotEnoughQueueQuota\n"
        "    root.production.fin: vcore=2 requested, 1 of 2 in use, 1 short\n"
    )
    found = json.loads(run("why", "old/p2", *against, "-o", "json").stdout)
    assert (found["kind"], found["running"], found["waiting"][0]["queue"]) == ("ApplicationExplanation", [], "root.old")
    assert run("why", "dev/nobody", *against).exit_code == 2


def test_pending_lists_pods_waiting_at_and_below_a_queue(files: Path) -> None:
    against = ("--against", f"files:{files.parent}")

    assert [line.split()[1] for line in run("pending", *against).stdout.splitlines() if line.startswith("Pod")] == [
        "old/p2",
        "fin/p2",
        "dev/p1",
        "dev/p2",
    ]
    below = run("pending", "Root.production", *against).stdout
    assert below.startswith("Pod fin/p2 of fin-app in root.production.fin: NotEnoughQueueQuota\n")
    found = json.loads(run("pending", "root.old", *against, "-o", "json").stdout)
    assert [each["pod"] for each in found["yunikorn"]] == ["old/p2"]
    assert run("pending", "root.old", *against).stdout.count("Pod ") == 1


def test_invalid_queues_yaml_is_reported_and_exits_1(tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", queues_yaml("- {name: a, resources: {max: {vcore: 0.5}}}"), pod("p", "app"))

    shown = run("simulate", file)

    assert shown.exit_code == 1
    assert "queues.yaml cannot be used: " in shown.stderr
    assert "UnreadableQueues" in shown.stdout
